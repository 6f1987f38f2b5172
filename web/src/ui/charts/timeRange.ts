/** The time range in the URL that all charts of a page share. Times are ms since the epoch. */

import { rangeIn, type SessionUrl, withRange, withSettings } from '../../base/url';

export interface Bounds {
  /** Times of the session's first and last data; null if there is none. */
  first: number | null;
  last: number | null;
  /** Whether more data may arrive. */
  live: boolean;
}

/** `span` ends at the latest data, `all` is the whole session, and `fixed` does not move. */
export type Choice =
  | { kind: 'span'; span: string }
  | { kind: 'fixed'; from: number; to: number }
  | { kind: 'all' };

export interface Range {
  from: number;
  to: number;
}

export const SPANS = ['5m', '15m', '1h', '6h', '24h', '7d', '30d'] as const;
const DEFAULT_SPAN = '15m';
const UNITS: Record<string, number> = { s: 1e3, m: 60e3, h: 3_600e3, d: 86_400e3 };
/**
 * Margin around a whole session, ms. Collectors sample every few seconds, so a short session may fall between
 * two samples.
 */
const RANGE_MARGIN = 10_000;
/** Minimum range for a new session, unless the user chooses a shorter one, ms. */
const MIN_SESSION_RANGE = 120_000;
/** Longest range that the record can hold, ms. */
const MAX_RANGE = 400 * 86_400e3;
/** Shortest range that can be drawn, ms. */
const MIN_RANGE = 5_000;

/** `90s`, `15m`, `6h` or `7d` in ms; null if the text is no such span or if it is too short or too long. */
export function spanMillis(text: string | undefined): number | null {
  const found = /^(\d{1,6})([smhd])$/.exec(text ?? '');
  const millis = found === null ? 0 : Number(found[1]) * (UNITS[found[2] ?? ''] ?? 0);
  return millis >= MIN_RANGE && millis <= MAX_RANGE ? millis : null;
}

const millis = (ns: string) => Number(BigInt(ns) / 1_000n) / 1e3;

/** The choice in the URL. By default, the last minutes of a live session, or all of an ended one. */
export function choiceOf(
  { filters, settings }: Pick<SessionUrl, 'filters' | 'settings'>,
  live: boolean,
): Choice {
  const range = rangeIn(filters);
  if (range !== null) return { kind: 'fixed', from: millis(range.from), to: millis(range.to) };
  const span = settings?.span;
  if (span === 'all') return { kind: 'all' };
  if (span !== undefined && spanMillis(span) !== null) return { kind: 'span', span };
  return live ? { kind: 'span', span: DEFAULT_SPAN } : { kind: 'all' };
}

/** The page with a choice; null resets it to the default. */
export function withChoice(url: SessionUrl, choice: Choice | null): SessionUrl {
  if (choice?.kind === 'fixed')
    return withRange(withSettings(url, { span: undefined }), {
      from: nanos(choice.from),
      to: nanos(choice.to),
    });
  const span = choice?.kind === 'span' ? choice.span : choice?.kind;
  return withRange(withSettings(url, { span }), null);
}

/** Converts ms to ns since the epoch, as the API expects. */
export const nanos = (millis: number) => String(BigInt(Math.round(millis)) * 1_000_000n);

/** The range of a choice at the time `now`. */
export function rangeOf(choice: Choice, bounds: Bounds, now: number): Range {
  if (choice.kind === 'fixed') return { from: choice.from, to: choice.to };
  const end = bounds.live ? now : (bounds.last ?? now) + RANGE_MARGIN;
  if (choice.kind === 'all')
    return { from: Math.min((bounds.first ?? end) - RANGE_MARGIN, end - 60_000), to: end };
  // A new session starts with at least the minimum range.
  const begin = Math.min((bounds.first ?? Number.NEGATIVE_INFINITY) - RANGE_MARGIN, end - MIN_SESSION_RANGE);
  return { from: Math.max(end - (spanMillis(choice.span) ?? 0), begin), to: end };
}

/** Whether the range may receive new points. */
export function moves(choice: Choice, bounds: Bounds, now: number): boolean {
  return bounds.live && (choice.kind !== 'fixed' || choice.to > now);
}

const STEPS = [
  1, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 21_600, 43_200, 86_400, 172_800,
];
/** Maximum number of points of a line. A chart of this size cannot show more. */
const POINTS = 240;

/**
 * The distance between the requested points, s: a round number, so large that a chart gets no more points
 * than it can show.
 */
export function stepOf(range: Range): number {
  const seconds = (range.to - range.from) / 1e3;
  const least = seconds <= 60 ? 1 : 5; // the collectors' own interval
  return STEPS.find((step) => step >= least && seconds / step <= POINTS) ?? Math.ceil(seconds / POINTS);
}

/**
 * The range with its start aligned to the step, so that a moving range requests the same points again. The
 * end stays, since nothing is known beyond it.
 */
export function aligned(range: Range, step: number): Range {
  const grid = step * 1e3;
  return { from: Math.floor(range.from / grid) * grid, to: range.to };
}

/** A range twice as long with the same centre. */
export function wider({ from, to }: Range, now: number): Range {
  const half = to - from;
  const end = Math.min(to + half / 2, Math.max(now, to));
  return { from: end - 2 * half, to: end };
}

/** The range of a drag, extended to the minimum length if it is shorter. */
export function dragged(one: number, other: number): Range {
  const from = Math.min(one, other);
  const to = Math.max(one, other);
  const short = Math.max(0, MIN_RANGE - (to - from)) / 2;
  return { from: from - short, to: to + short };
}
