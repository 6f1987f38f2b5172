import { expect, test } from 'vitest';
import { usersWorkers } from './nodes';

test("a node's workers are counted without Ray's own", () => {
  const [mine, rays] = [{ is_internal: false }, { is_internal: true }];
  expect(usersWorkers({ workers: [rays, mine, mine], workers_total: 503 })).toEqual({
    workers: [mine, mine],
    total: 502,
  });
});
