import { expect, it } from 'vitest';
import type { CriticalPath } from '../api/criticalPath';
import { pathCauses, pathParts } from './criticalPath';

const share = { is_driver: false, links: 1, total_ns: 0, share: 0, held_ns: 0, without_ns: 5 };

it('a function called driver could become faster, the driver cannot', () => {
  const of = { ...share, by_phase: { executing: 5 } };
  const functions: CriticalPath['functions'] = [
    { ...of, name: 'driver', is_driver: true },
    { ...of, name: 'driver' },
  ];
  expect(pathParts({ functions }).map((part) => [part.isDriver, part.without])).toEqual([
    [true, null],
    [false, 5],
  ]);
});

it('functions that ran are causes of their own, what held them up is one for all', () => {
  const functions: CriticalPath['functions'] = [
    { ...share, name: 'load', by_phase: { executing: 30, fetching: 20 } },
    { ...share, name: 'train', by_phase: { executing: 10, fetching: 25, queued: 1 } },
    { ...share, name: 'driver', is_driver: true, by_phase: { executing: 7 } },
  ];
  expect(pathCauses({ functions })).toEqual([
    { phase: 'fetching', total: 45, name: 'train', isDriver: false, functions: 2 },
    { phase: 'executing', total: 30, name: 'load', isDriver: false, functions: 1 },
    { phase: 'executing', total: 10, name: 'train', isDriver: false, functions: 1 },
    { phase: 'executing', total: 7, name: 'driver', isDriver: true, functions: 1 },
    { phase: 'queued', total: 1, name: 'train', isDriver: false, functions: 1 },
  ]);
});
