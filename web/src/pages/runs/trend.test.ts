import { expect, it } from 'vitest';
import { firstUsual, linesThrough, placeOf, placeOfRun, rangeOf } from './trend';

const point = (value_ns: number | null) => ({
  session: 's',
  job_id: '1',
  has_record: true,
  name: '',
  begin_ns: 1,
  value_ns,
  counts: true,
  outcome: 'SUCCEEDED',
  tags: [],
  git_commit: null,
  baseline: false,
  verdict: 'unknown' as const,
  ratio: null,
});

it('shows all points, the usual range and the baseline', () => {
  const usual = { runs: 5, mid_ns: 100, low_ns: 90, high_ns: 110 };
  const range = rangeOf({ points: [point(100), point(null), point(150)], usual, baseline_ns: 60 });
  expect(range.low).toBeLessThan(60);
  expect(range.high).toBeGreaterThan(150);
  expect(placeOf(range.low, range)).toBe(0);
  expect(placeOf(range.high, range)).toBeCloseTo(100);
});

it('has a range even if nothing is known or all values are equal', () => {
  expect(rangeOf({ points: [], usual: null, baseline_ns: null })).toEqual({ low: 0, high: 1 });
  const { low, high } = rangeOf({ points: [point(100), point(100)], usual: null, baseline_ns: null });
  expect(low).toBeLessThan(100);
  expect(high).toBeGreaterThan(100);
});

it('puts runs equally far apart', () => {
  expect([0, 1].map((at) => placeOfRun(at, 2))).toEqual([25, 75]);
});

it('interrupts a line where a value is unknown', () => {
  expect(linesThrough([1, 3, null, 2], 30, 10)).toEqual(['0.0,10.0 10.0,0.0', '30.0,5.0']);
  expect(linesThrough([7, 7], 30, 10)).toEqual(['0.0,5.0 30.0,5.0']);
  expect(linesThrough([99, 101], 30, 10)).toEqual(['0.0,5.3 30.0,4.8']);
  expect(linesThrough([null], 30, 10)).toEqual([]);
});

it('finds the oldest run that decides what is usual', () => {
  const usual = { runs: 2, mid_ns: 100, low_ns: 90, high_ns: 110 };
  const points = [point(1), point(2), { ...point(3), counts: false }, point(4), point(null)];
  expect(firstUsual({ points, usual })).toBe(1);
});
