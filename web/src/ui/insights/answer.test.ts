import { expect, it } from 'vitest';
import type { FindingItem } from '../../api/schema';
import { type Cause, findingsOf } from './answer';

const cause = (name: string, phase: string, total_ns: number) =>
  ({ name, phase, total_ns, is_driver: name === '' }) as Cause;
const finding = (about: Partial<FindingItem>) =>
  ({ function: null, actor_class: null, is_risk: false, ...about }) as FindingItem;

it('puts findings beside the cause that they are about', () => {
  const start = cause('load', 'starting_worker', 9);
  const score = cause('Scorer.score', 'executing', 5);
  const load = cause('load', 'executing', 3);
  const driver = cause('', 'finishing', 1);
  const slow = finding({ function: 'load' });
  const busy = finding({ actor_class: 'Scorer' });
  const risk = finding({ function: 'load', is_risk: true });
  const whole = finding({});
  const { of, others } = findingsOf([start, score, load, driver], [slow, busy, risk, whole]);
  expect([...of]).toEqual([
    [load, [slow]],
    [score, [busy]],
  ]);
  expect(others).toEqual([risk, whole]);
  // Without execution on the path, the function's largest cause counts.
  expect(findingsOf([start], [slow]).of.get(start)).toEqual([slow]);
});
