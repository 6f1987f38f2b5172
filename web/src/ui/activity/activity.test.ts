import { expect, test } from 'vitest';
import { type Activity, busiestTime } from './activity';

const activity = (running: number[], in_flight: number[]) =>
  ({ begin_ns: 1000, end_ns: 1400, bucket_ns: 100, running, in_flight }) as Activity;

test('the busiest moment is when most ran, or else most was in flight', () => {
  expect(busiestTime(activity([1, 3, 2, 3], [9, 4, 4, 4]))).toBe(1150);
  expect(busiestTime(activity([0, 0, 0, 0], [1, 2, 5, 5]))).toBe(1250);
  expect(busiestTime(activity([], []))).toBe(null);
});
