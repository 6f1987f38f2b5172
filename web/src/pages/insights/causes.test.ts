import { expect, it } from 'vitest';
import type { ExplainedCause } from '../../api/schema';
import { partsOf, shadeOf } from './causes';

const cause = (name: string, share: number, phase = 'executing'): ExplainedCause => ({
  phase,
  name,
  is_driver: false,
  functions: 1,
  actor: null,
  text: '',
  total_ns: share * 1e9,
  held_ns: 0,
  share,
});

it('adds up to the whole, even if parts are left out', () => {
  const causes = [cause('a', 0.5), cause('b', 0.2), cause('c', 0.2), cause('d', 0.1)];
  const parts = partsOf(causes, 1e9, 2);
  expect(parts.map((part) => part.cause?.name)).toEqual(['a', 'b', undefined]);
  expect(parts.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1);
  expect(parts.at(-1)?.total_ns).toBeCloseTo(3e8);
});

it('has no rest where nothing is left', () => {
  expect(partsOf([cause('a', 1)], 1e9, 5)).toHaveLength(1);
  expect(partsOf([cause('a', 0.99999), cause('b', 0.00001)], 1e9, 5)).toHaveLength(1);
});

it('gives parts of the same colour different shades', () => {
  const parts = partsOf([cause('a', 0.4), cause('', 0.3, 'queued'), cause('b', 0.3)], 1e9, 5);
  const [a, queued, b] = parts.map((part) => shadeOf(parts, part, (one) => one.cause?.phase ?? ''));
  expect(a).not.toBe(b);
  expect(queued).toBe(100);
});
