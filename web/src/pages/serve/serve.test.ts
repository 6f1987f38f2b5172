import { expect, it } from 'vitest';
import { callsOutside, columnsOf, labels, rateOf, stateOf } from './serve';

const one = (name: string, calls: string[] | null, is_ingress = false) => ({
  deployment_id: `a#${name}`,
  is_ingress,
  calls: calls?.map((to) => (to.includes('#') ? to : `a#${to}`)) ?? null,
});
const names = (columns: { deployment_id: string }[][]) =>
  columns.map((column) => column.map((each) => each.deployment_id.slice(2)).sort());

it('puts each deployment right of all that call it', () => {
  const diamond = [one('D', []), one('C', ['D']), one('B', ['C', 'D']), one('A', ['B', 'D'], true)];
  expect(names(columnsOf(diamond))).toEqual([['A'], ['B'], ['C'], ['D']]);
});

it('comes to an end where deployments call each other, themselves, or what is not there', () => {
  const circle = [one('A', ['B', 'x#Y'], true), one('B', ['C']), one('C', ['A', 'C'])];
  expect(names(columnsOf(circle))).toEqual([['A'], ['B'], ['C']]);
  expect(circle[0] && callsOutside(circle[0], circle)).toEqual(['x#Y']);
});

it('puts all side by side where Ray does not say who calls whom', () => {
  expect(names(columnsOf([one('A', null), one('B', null)]))).toEqual([['A', 'B']]);
  const many = Array.from({ length: 2000 }, (_, at) => one(`${at}`, at < 1999 ? [`${at + 1}`] : []));
  expect(columnsOf(many)).toHaveLength(2000);
});

it('says what a deployment was when its cluster ended', () => {
  expect(stateOf({ state: 'CUT_OFF', last_state: 'UNHEALTHY' })).toBe('UNHEALTHY');
  expect(stateOf({ state: 'DELETED', last_state: 'DELETED' })).toBe('DELETED');
});

it('quotes what users chose', () => {
  const of = labels({ application: 'a"} or vector(1) #\\', deployment: 'b\nc' });
  expect(of).toBe('{application="a\\"} or vector(1) #\\\\",deployment="b\\nc"}');
  expect(rateOf('x', '{}', 'y')).toBe('sum by (y) (rate(x_total{}[1m])) or sum by (y) (rate(x{}[1m]))');
});
