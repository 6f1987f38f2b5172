import { expect, it } from 'vitest';
import type { WaterfallPart } from '../../api/schema';
import { rangeOf, stepsOf } from './waterfall';

const part = (phase: string, name: string, a_ns: number, b_ns: number): WaterfallPart => ({
  phase,
  function: name,
  is_driver: false,
  a_ns,
  b_ns,
  change_ns: b_ns - a_ns,
});
const PARTS = [
  part('executing', 'load', 100, 700),
  part('queued', '', 500, 200),
  part('executing', 'save', 50, 90),
  part('executing', 'same', 30, 30),
  part('others', '', 320, 300),
];
const A = 1000;
const B = 1320;

it('leads from one duration to the other, part by part', () => {
  const steps = stepsOf(PARTS, A, Infinity);
  expect(steps.map(({ from, to }) => [from, to])).toEqual([
    [1000, 1600],
    [1600, 1300],
    [1300, 1340],
    [1340, B],
  ]);
});

it('sums the parts beyond the largest ones', () => {
  const steps = stepsOf(PARTS, A, 1);
  expect(steps.map(({ part }) => part.phase)).toEqual(['executing', 'others']);
  expect(steps[1]?.part).toEqual(part('others', '', 870, 590));
  expect(steps[1]?.to).toBe(B);
});

it('starts at 0 unless the parts would be too small to see', () => {
  expect(rangeOf(stepsOf(PARTS, A, 9), A, B)).toEqual({ low: 400, high: 1600 });
  expect(rangeOf(stepsOf([part('executing', 'f', 0, 9000)], A, 10_000), A, 10_000).low).toBe(0);
  expect(rangeOf([], A, A)).toEqual({ low: 0, high: A });
});
