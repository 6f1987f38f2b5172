import { expect, it } from 'vitest';
import { segments } from './timeline';

const states = [
  { state: 'RUNNING', time_ns: 400 },
  { state: 'PENDING_NODE_ASSIGNMENT', time_ns: 100 },
];

it('orders states by time and measures to the next one', () => {
  const parts = segments([...states, { state: 'FINISHED', time_ns: 1_000 }], 1_000, 5_000);
  expect(parts.map((part) => [part.state, part.spent])).toEqual([
    ['PENDING_NODE_ASSIGNMENT', 300],
    ['RUNNING', 600],
    ['FINISHED', null],
  ]);
  expect(parts.some((part) => part.open)).toBe(false);
});

it('lets the state of a running attempt last until the last sign of life', () => {
  expect(segments(states, null, 900).at(-1)).toEqual({
    state: 'RUNNING',
    begin: 400,
    spent: 500,
    open: true,
  });
  expect(segments(states, null, null).at(-1)?.spent).toBeNull();
  expect(segments(states, null, 300).at(-1)?.spent).toBe(0);
});
