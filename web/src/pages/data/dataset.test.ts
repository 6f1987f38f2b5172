import { expect, it } from 'vitest';
import { inputsOf, isChain } from './dataset';

const plan = (inputs: Record<string, string[] | null>) =>
  Object.entries(inputs).map(([operator_id, given]) => ({ operator_id, inputs: given }));

it('draws a plan without branches as a chain', () => {
  const chain = plan({ input: [], read: ['input'], map: ['read'] });
  expect(isChain(chain, inputsOf(chain) ?? [])).toBe(true);
  const union = plan({ a: [], b: [], union: ['a', 'b'] });
  expect(isChain(union, inputsOf(union) ?? [])).toBe(false);
  const apart = plan({ a: [], b: ['a'], c: [] });
  expect(isChain(apart, inputsOf(apart) ?? [])).toBe(false);
});

it('has no inputs unless the tracer reported those of each operator', () => {
  expect(inputsOf(plan({ a: [], b: null }))).toBeNull();
});
