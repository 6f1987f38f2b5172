import { expect, it } from 'vitest';
import { progressOf, typedObject } from './progress';

it('adds up to all attempts', () => {
  const states = {
    FINISHED: 5,
    FAILED: 2,
    RUNNING: 1,
    RUNNING_IN_RAY_GET: 1,
    PENDING_NODE_ASSIGNMENT: 3,
    NIL: 1,
    CUT_OFF: 2,
  };
  expect(progressOf(states)).toEqual({
    all: 15,
    ended: 9,
    failed: 2,
    cutOff: 2,
    running: 2,
    waiting: 4,
  });
  expect(progressOf(states, 1)).toMatchObject({ all: 15, ended: 9, failed: 1 });
  expect(progressOf({})).toEqual({ all: 0, ended: 0, failed: 0, cutOff: 0, running: 0, waiting: 0 });
});

it('accepts only objects', () => {
  expect(typedObject(' ')).toBeUndefined();
  expect(typedObject('{"a": 1}')).toEqual({ a: 1 });
  for (const text of ['[1]', 'null', '1', '{', '"x"']) expect(typedObject(text)).toBeNull();
});
