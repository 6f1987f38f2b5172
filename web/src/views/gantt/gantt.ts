/** The arithmetic of the Gantt chart: windows of time, what to fetch for them, ticks, and finding bars. */

import type { GanttBars } from '../../api/schema';
import type { Span } from '../shared/span';

/** Minimum length of a window, ns. Times in JavaScript are exact only to 256 ns. */
const MIN_SPAN = 20_000;
export const ROW = 18;
/** Height of a bar, px. */
export const BAR = ROW - 3;
export const LANE_GAP = 5;

function powerOfTwo(least: number): number {
  return 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(1, least))));
}

/** The window with its length limited and moved so that at most half of it is outside `whole`. */
export function within(window: Span, whole: Span): Span {
  const most = Math.max(MIN_SPAN, (whole.end - whole.begin) * 1.5);
  const length = Math.min(most, Math.max(MIN_SPAN, window.end - window.begin));
  const middle = (window.begin + window.end) / 2;
  const begin = Math.min(
    Math.max(middle - length / 2, whole.begin - length / 2),
    Math.max(whole.begin - length / 2, whole.end - length / 2),
  );
  return { begin, end: begin + length };
}

/** The window scaled around `at`; a `factor` below 1 zooms in. */
export function zoomed(window: Span, factor: number, at: number): Span {
  const least = MIN_SPAN / (window.end - window.begin);
  const by = Math.max(factor, Math.min(1, least));
  return { begin: at - (at - window.begin) * by, end: at + (window.end - at) * by };
}

export function panned(window: Span, by: number): Span {
  return { begin: window.begin + by, end: window.end + by };
}

/**
 * The range of time to fetch for a window. It is quantised and has a margin on both sides, so that small
 * moves fetch nothing new.
 */
export function tileOf(window: Span, pixels: number): Span & { width: number } {
  const unit = powerOfTwo(window.end - window.begin);
  const step = unit / 2;
  const begin = (Math.floor(window.begin / step) - 1) * step;
  const end = (Math.ceil(window.end / step) + 1) * step;
  const grain = unit / Math.min(2048, powerOfTwo(Math.max(256, pixels)));
  return { begin, end, width: Math.min(8192, Math.ceil((end - begin) / grain)) };
}

const DAY = 86_400e9;

/** The next number up that is 1, 2 or 5 times a power of ten. */
function roundUp(value: number): number {
  const power = 10 ** Math.ceil(Math.log10(value) - 1e-9);
  return power * ([0.2, 0.5].find((part) => power * part >= value) ?? 1);
}

/** Ticks at round times, with labels at least `room` px apart. */
export function ticksOf(window: Span, pixels: number, room = 90): { step: number; at: number[] } {
  const least = ((window.end - window.begin) * room) / Math.max(1, pixels);
  let step: number;
  if (least > 10e9) {
    const clock = [15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 43_200];
    const seconds = clock.find((some) => some * 1e9 >= least);
    step = seconds === undefined ? roundUp(least / DAY) * DAY : seconds * 1e9;
  } else step = roundUp(Math.max(1, least));
  const at: number[] = [];
  for (let tick = Math.ceil(window.begin / step) * step; tick <= window.end; tick += step) at.push(tick);
  return { step, at };
}

/**
 * A time since the start, with as many digits as the step requires. All labels of an axis have the format of
 * its largest time, `largest` (ns).
 */
export function tickLabel(ns: number, step: number, largest: number = ns): string {
  const digits = (unit: number) => Math.max(0, Math.ceil(Math.log10(unit / step) - 1e-9));
  const size = Math.max(Math.abs(largest), step);
  if (size < 1e6) return `${(ns / 1e3).toFixed(digits(1e3))} µs`;
  if (size < 1e9) return `${(ns / 1e6).toFixed(digits(1e6))} ms`;
  if (size < 120e9) return `${(ns / 1e9).toFixed(digits(1e9))} s`;
  if (ns < 0) return `-${tickLabel(-ns, step, largest)}`;
  const seconds = Math.floor(ns / 1e9);
  const two = (value: number) => String(value).padStart(2, '0');
  const rest = step < 1e9 ? (ns / 1e9 - seconds).toFixed(digits(1e9)).slice(1) : '';
  const days = Math.floor(ns / DAY);
  if (step >= DAY) return `${days}d`;
  const hours = Math.floor(seconds / 3600) - days * 24;
  const minutes = `${hours}:${two(Math.floor(seconds / 60) % 60)}`;
  if (size < DAY) return `${minutes}:${two(seconds % 60)}${rest}`;
  return `${days}d ${minutes}${step < 60e9 ? `:${two(seconds % 60)}${rest}` : ''}`;
}

type Bars = Pick<GanttBars, 'lane' | 'row' | 'begin' | 'end'>;

/** The bars of each row of each lane, in order of time. */
export function rowIndex(bars: Bars): Map<string, number[]> {
  const rows = new Map<string, number[]>();
  bars.lane.forEach((lane, bar) => {
    const key = `${lane}:${bars.row[bar]}`;
    const row = rows.get(key);
    if (row) row.push(bar);
    else rows.set(key, [bar]);
  });
  for (const row of rows.values()) row.sort((a, b) => (bars.begin[a] as number) - (bars.begin[b] as number));
  return rows;
}

/** The bar of a row at a given time, or the nearest one within `slack` (ns); -1 if there is none. */
export function barAt(bars: Bars, row: readonly number[] | undefined, at: number, slack: number): number {
  let found = -1;
  let nearest = slack;
  for (const bar of row ?? []) {
    const away = Math.max((bars.begin[bar] as number) - at, at - (bars.end[bar] as number), 0);
    if (away <= nearest && (away < nearest || found < 0)) {
      nearest = away;
      found = bar;
    }
  }
  return found;
}

/** A predicate for names that contain the search text, ignoring case; null if the search text is empty. */
export function nameMatcher(text: string): ((name: string) => boolean) | null {
  const wanted = text.trim().toLowerCase();
  return wanted === '' ? null : (name) => name.toLowerCase().includes(wanted);
}
