import type { TrendAnswer } from '../../api/schema';

/** Space above the highest and below the lowest value, as a share of their range. */
const PADDING = 0.12;

/** The lines of functions reach at least this share above and below the middle of their values. */
const MIN_RANGE = 0.2;

type Values = Pick<TrendAnswer, 'points' | 'usual' | 'baseline_ns'>;

/** The range of values that a chart shows: all points, the usual range and the baseline. */
export function rangeOf({ points, usual, baseline_ns: baseline }: Values): { low: number; high: number } {
  const values = points.flatMap(({ value_ns: value }) => (value === null ? [] : [value]));
  if (usual !== null) values.push(usual.low_ns, usual.high_ns);
  if (baseline !== null) values.push(baseline);
  if (values.length === 0) return { low: 0, high: 1 };
  const low = Math.min(...values);
  const high = Math.max(...values);
  const space = Math.max((high - low) * PADDING, high * 0.01);
  return { low: Math.max(0, low - space), high: high + space };
}

/** The position of the oldest run that decides what is usual. */
export function firstUsual({ points, usual }: Pick<Values, 'points' | 'usual'>): number {
  const counted = points.flatMap(({ counts, value_ns }, at) => (counts && value_ns !== null ? [at] : []));
  return counted.at(-(usual?.runs ?? 0)) ?? 0;
}

/** The place of a value from the bottom of the chart, in percent. */
export const placeOf = (value: number, { low, high }: { low: number; high: number }) =>
  high === low ? 50 : Math.min(100, Math.max(0, (100 * (value - low)) / (high - low)));

/** The place of a run from the left of the chart, in percent. All runs are equally far apart. */
export const placeOfRun = (at: number, runs: number) => (100 * (at + 0.5)) / Math.max(1, runs);

/** Lines through the known values, as points of SVG polylines in a box of this size. */
export function linesThrough(values: readonly (number | null)[], width: number, height: number): string[] {
  const known = values.filter((value) => value !== null);
  // All lines have a range in proportion to their value, so that a small change does not look as steep as a large one.
  const [least, most] = [Math.min(...known), Math.max(...known)];
  const middle = (least + most) / 2;
  const half = Math.max((most - least) / 2, MIN_RANGE * middle) || 1;
  const lines: string[][] = [[]];
  values.forEach((value, at) => {
    if (value === null) {
      lines.push([]);
      return;
    }
    const x = values.length === 1 ? width / 2 : (at * width) / (values.length - 1);
    const y = (height * (middle + half - value)) / (2 * half);
    lines.at(-1)?.push(`${x.toFixed(1)},${y.toFixed(1)}`);
  });
  return lines.filter((line) => line.length > 0).map((line) => line.join(' '));
}
