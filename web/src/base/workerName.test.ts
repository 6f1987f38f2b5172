import { expect, test } from 'vitest';
import { workerName } from './workerName';

test('a worker is known by its actor, else by the functions that it ran', () => {
  const ran = { actor_name: null, class_name: null, functions: ['load', 'clean'], functions_total: 2 };
  expect(workerName(ran)).toBe('load, clean');
  expect(workerName({ ...ran, functions_total: 5 })).toBe('load, clean +3');
  expect(workerName({ ...ran, class_name: 'Board' })).toBe('Board');
  expect(workerName({ ...ran, actor_name: 'the board', class_name: 'Board' })).toBe('the board');
  expect(workerName({ ...ran, functions: [], functions_total: 0 })).toBe('');
});
