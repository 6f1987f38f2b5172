/** A range of time in a URL: `FROM-TO`, both ns since the epoch. */

import { absolute, relative, type Span } from './span';

export interface TimeRange {
  from: string;
  to: string;
}

export function parseRange(text: string | undefined): TimeRange | null {
  const found = /^(\d{1,19})-(\d{1,19})$/.exec(text ?? '');
  const [, from, to] = found ?? [];
  return from !== undefined && to !== undefined && BigInt(from) < BigInt(to) ? { from, to } : null;
}

export const formatRange = ({ from, to }: TimeRange) => `${from}-${to}`;

/** The time halfway through it. */
export const middleOf = ({ from, to }: TimeRange) => String((BigInt(from) + BigInt(to)) / 2n);

/** How long it is. ns. */
export const lengthOf = ({ from, to }: TimeRange) => Number(BigInt(to) - BigInt(from));

/** As times after a base, or null without a base or a range. */
export function spanOf(base: number | null, range: TimeRange | null): Span | null {
  if (base === null || range === null) return null;
  return { begin: relative(base, range.from) ?? 0, end: relative(base, range.to) ?? 0 };
}

/** A span after a base as a range, in whichever direction it was drawn; null where it is empty. */
export function rangeOf(base: number, one: number, other: number): TimeRange | null {
  const from = absolute(base, Math.max(Math.min(one, other), -base));
  const to = absolute(base, Math.max(one, other, -base));
  return BigInt(from) < BigInt(to) ? { from, to } : null;
}

/**
 * What a range becomes when one of its ends is put at a time, without one the window with that end moved. An
 * end beyond the other takes the rest of the window with it.
 */
export function withEnd(range: Span | null, window: Span, edge: 'begin' | 'end', at: number): Span {
  const { begin, end } = range ?? window;
  if (edge === 'begin') return { begin: at, end: end > at ? end : Math.max(window.end, at + 1000) };
  return { begin: begin < at ? begin : Math.min(window.begin, at - 1000), end: at };
}
