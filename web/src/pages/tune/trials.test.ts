import { expect, it } from 'vitest';
import type { TuneTrial } from '../../api/schema';
import { axisOf, goodness, inOrder, varying } from './trials';

const trial = (trial_id: string, changed: Partial<TuneTrial>): TuneTrial => ({
  trial_id,
  name: null,
  state: 'TERMINATED',
  end_reason: null,
  parameters: {},
  metrics: {},
  iterations: 1,
  time_total_s: null,
  value: null,
  best_value: null,
  best_iteration: null,
  results: 1,
  checkpoints: 0,
  failures: 0,
  error: null,
  path: null,
  actor_id: null,
  earlier_actor_ids: [],
  node_id: null,
  start_ns: null,
  end_ns: null,
  ...changed,
});

const TRIALS = [
  trial('t_2', { value: 3, parameters: { lr: 0.1, opt: 'sgd' } }),
  trial('t_10', { value: null, parameters: { lr: 0.01 } }),
  trial('t_1', { value: -1, parameters: { lr: 10, opt: 'adam' } }),
];
const ids = (trials: TuneTrial[]) => trials.map((one) => one.trial_id);

it('orders trials by a column or a parameter, those without a value last', () => {
  expect(ids(inOrder(TRIALS, 'value'))).toEqual(['t_1', 't_2', 't_10']);
  expect(ids(inOrder(TRIALS, '-value'))).toEqual(['t_2', 't_1', 't_10']);
  expect(ids(inOrder(TRIALS, 'trial'))).toEqual(['t_1', 't_2', 't_10']);
  expect(ids(inOrder(TRIALS, 'parameter:lr'))).toEqual(['t_10', 't_2', 't_1']);
  expect(ids(inOrder(TRIALS, '-parameter:opt'))).toEqual(['t_2', 't_1', 't_10']);
});

it('has a linear, a logarithmic or a named axis, depending on its values', () => {
  const linear = axisOf('width', [1, 3, 2]);
  expect([linear.at(1), linear.at(2), linear.at(3), linear.at('x')]).toEqual([0, 0.5, 1, null]);
  const down = axisOf('loss', [1, 3], true);
  expect([down.at(1), down.at(3)]).toEqual([1, 0]);
  const log = axisOf('lr', [0.01, 1, 0.1]);
  expect(log.isLog).toBe(true);
  expect(log.at(0.1)).toBeCloseTo(0.5);
  const named = axisOf('opt', ['sgd', 'adam', true, 3]);
  expect(named.ticks.map(({ label }) => label)).toEqual(['3', 'adam', 'sgd', 'true']);
  expect([named.at('3'), named.at(true), named.at('no'), named.at(null)]).toEqual([0, 1, null, null]);
  expect(axisOf('one', [5, 5]).at(5)).toBe(0.5);
});

it('rates values only if it is known which are better', () => {
  expect([3, 1, -1].map(goodness(TRIALS, 'min'))).toEqual([0, 0.5, 1]);
  expect([3, -1].map(goodness(TRIALS, 'max'))).toEqual([1, 0]);
  expect(goodness(TRIALS, null)(3)).toBe(1);
});

it('shows varying parameters, limited in number', () => {
  const parameters = Array.from({ length: 12 }, (_, at) => ({
    name: `p${at}`,
    is_number: true,
    varies: at !== 0,
    values: 2,
  }));
  expect(varying(parameters).map(({ name }) => name)).toEqual([
    'p1',
    'p2',
    'p3',
    'p4',
    'p5',
    'p6',
    'p7',
    'p8',
  ]);
  const fixed = parameters.slice(0, 1);
  expect(varying(fixed)).toEqual(fixed);
});
