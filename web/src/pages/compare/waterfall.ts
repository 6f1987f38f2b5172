import type { WaterfallPart } from '../../api/schema';

/** A part of the difference, drawn from the duration before it to the duration after it, ns. */
export interface Step {
  part: WaterfallPart;
  from: number;
  to: number;
}

/** The phase of the sum of the parts that are left out, as in the API. */
const OTHERS = 'others';

/**
 * The steps from A's duration to B's. Beyond the `most` largest, the parts are one step. Parts without a
 * change are left out.
 */
export function stepsOf(parts: readonly WaterfallPart[], begin: number, most: number): Step[] {
  const changed = parts.filter(({ change_ns }) => change_ns !== 0);
  const single = changed.filter(({ phase }) => phase !== OTHERS);
  const rest = [...single.slice(most), ...changed.filter(({ phase }) => phase === OTHERS)];
  const sum = (field: 'a_ns' | 'b_ns' | 'change_ns') => rest.reduce((total, part) => total + part[field], 0);
  const others = {
    phase: OTHERS,
    function: '',
    is_driver: false,
    a_ns: sum('a_ns'),
    b_ns: sum('b_ns'),
    change_ns: sum('change_ns'),
  };
  let at = begin;
  return [...single.slice(0, most), ...(rest.length > 0 ? [others] : [])].map((part) => {
    const from = at;
    at += part.change_ns;
    return { part, from, to: at };
  });
}

/** Minimum share of the width that the steps take up. */
const MIN_SHARE = 0.5;

/**
 * The range of durations that is drawn, ns. It starts at 0 unless the steps would be too small to see; then
 * they take up half of the width.
 */
export function rangeOf(steps: readonly Step[], a: number, b: number): { low: number; high: number } {
  const ends = [a, b, ...steps.flatMap(({ from, to }) => [from, to])];
  const [least, high] = [Math.min(...ends), Math.max(...ends)];
  const low = Math.max(0, high - (high - least) / MIN_SHARE);
  return { low: high === least ? 0 : low, high };
}
