import { expect, it } from 'vitest';
import type { CriticalPathAnswer } from '../api/schema';
import { pathParts } from './criticalPath';

const share = { is_driver: false, links: 1, total_ns: 0, share: 0, held_ns: 0, without_ns: 5 };

it('a function called driver could become faster, the driver cannot', () => {
  const of = { ...share, by_phase: { executing: 5 } };
  const functions: CriticalPathAnswer['functions'] = [
    { ...of, name: 'driver', is_driver: true },
    { ...of, name: 'driver' },
  ];
  expect(pathParts({ functions }).map((part) => [part.isDriver, part.without])).toEqual([
    [true, null],
    [false, 5],
  ]);
});
