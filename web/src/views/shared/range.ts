/** A range of time in the URL: `FROM-TO`, both in ns since the epoch. */

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

/** The middle of a range. */
export const middleOf = ({ from, to }: TimeRange) => String((BigInt(from) + BigInt(to)) / 2n);

/** The length of a range, ns. */
export const lengthOf = ({ from, to }: TimeRange) => Number(BigInt(to) - BigInt(from));

/** A range of time as a span relative to a base; null if there is no base or no range. */
export function spanOf(base: number | null, range: TimeRange | null): Span | null {
  if (base === null || range === null) return null;
  return { begin: relative(base, range.from) ?? 0, end: relative(base, range.to) ?? 0 };
}

/** The range of time between two times relative to a base, in either order; null if it is empty. */
export function rangeOf(base: number, one: number, other: number): TimeRange | null {
  const from = absolute(base, Math.max(Math.min(one, other), -base));
  const to = absolute(base, Math.max(one, other, -base));
  return BigInt(from) < BigInt(to) ? { from, to } : null;
}

/**
 * Moves one end of a range to a time. If there is no range, moves that end of the window. If the moved end
 * passes the other one, the range is the rest of the window.
 */
export function withEnd(range: Span | null, window: Span, edge: 'begin' | 'end', at: number): Span {
  const { begin, end } = range ?? window;
  if (edge === 'begin') return { begin: at, end: end > at ? end : Math.max(window.end, at + 1000) };
  return { begin: begin < at ? begin : Math.min(window.begin, at - 1000), end: at };
}
