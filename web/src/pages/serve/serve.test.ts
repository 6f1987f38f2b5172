import { expect, it } from 'vitest';
import { callsOutside, callsWithin, labels, rateOf, stateOf } from './serve';

const one = (name: string, calls: string[] | null, is_ingress = false) => ({
  deployment_id: `a#${name}`,
  is_ingress,
  calls: calls?.map((to) => (to.includes('#') ? to : `a#${to}`)) ?? null,
});

it('tells calls within an application from those of others', () => {
  const circle = [one('A', ['B', 'x#Y'], true), one('B', ['A', 'B']), one('C', null)];
  expect(callsWithin(circle)).toEqual([
    ['a#A', 'a#B'],
    ['a#B', 'a#A'],
  ]);
  expect(circle[0] && callsOutside(circle[0], circle)).toEqual(['x#Y']);
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
