import { expect, it } from 'vitest';
import { labels } from '../../ui/charts/boards';
import {
  callsOutside,
  callsWithin,
  mostlySpent,
  partsOf,
  rateOf,
  reasonOf,
  stateOf,
  stepParts,
} from './serve';

const one = (name: string, calls: string[] | null, is_ingress = false) => ({
  deployment_id: `a#${name}`,
  is_ingress,
  calls: calls?.map((to) => (to.includes('#') ? to : `a#${to}`)) ?? null,
});

it('distinguishes calls within an application from those to others', () => {
  const circle = [one('A', ['B', 'x#Y'], true), one('B', ['A', 'B']), one('C', null)];
  const edges = [
    { caller: 'a#A', callee: 'a#B' },
    { caller: 'a#C', callee: 'a#A' },
  ];
  expect(callsWithin(circle, edges)).toEqual([
    ['a#A', 'a#B'],
    ['a#B', 'a#A'],
    ['a#C', 'a#A'],
  ]);
  expect(circle[0] && callsOutside(circle[0], circle)).toEqual(['x#Y']);
});

it('shows the state of a deployment when its cluster ended', () => {
  expect(stateOf({ state: 'CUT_OFF', last_state: 'UNHEALTHY' })).toBe('UNHEALTHY');
  expect(stateOf({ state: 'DELETED', last_state: 'DELETED' })).toBe('DELETED');
});

it('quotes names chosen by users', () => {
  const of = labels({ application: 'a"} or vector(1) #\\', deployment: 'b\nc' });
  expect(of).toBe('{application="a\\"} or vector(1) #\\\\",deployment="b\\nc"}');
  expect(rateOf('x', '{}', 'y')).toBe('sum by (y) (rate(x_total{}[1m])) or sum by (y) (rate(x{}[1m]))');
});

it('shows where the time of a request went, and the unknown part', () => {
  const whole = { total_ns: 100, proxy_ns: 5, queue_ns: 25, replica_ns: 0, downstream_ns: 70 };
  const found = partsOf(whole as Parameters<typeof partsOf>[0]);
  expect(found).toEqual([
    ['proxy', 5],
    ['queue', 25],
    ['downstream', 70],
  ]);
  const lost = { ...whole, proxy_ns: null, replica_ns: null, downstream_ns: null };
  expect(partsOf(lost as Parameters<typeof partsOf>[0])).toEqual([
    ['queue', 25],
    ['unknown', 75],
  ]);
});

it('does the same for a step', () => {
  const step = {
    deployment: 'Model',
    begin_ns: 10,
    end_ns: 110,
    queue_ns: 30,
    replica_ns: 60,
    downstream_ns: 20,
  };
  const of = (more: object) => stepParts({ ...step, ...more } as Parameters<typeof stepParts>[0]);
  expect(of({})).toEqual([
    ['queue', 30],
    ['replica', 50],
    ['downstream', 20],
  ]);
  expect(of({ replica_ns: null, downstream_ns: null })).toEqual([
    ['queue', 30],
    ['unknown', 70],
  ]);
  expect(of({ deployment: null })).toEqual([['proxy', 100]]);
});

it('names the deployment that makes requests slow', () => {
  const step = (deployment: string | null, queue_ns: number, ns: number, downstream_ns = 0) => ({
    application: 'shop',
    deployment,
    depth: 1,
    begin_ns: 0,
    end_ns: queue_ns + ns,
    queue_ns,
    replica_ns: ns - downstream_ns,
    downstream_ns,
    call_count: 0,
    method: null,
    status: null,
    failed: false,
    error: null,
    actor_id: null,
    node_id: null,
    log_file: null,
  });
  const slow = {
    proxy_ns: 10,
    steps: [step(null, 0, 120), step('Front', 10, 100, 90), step('Model', 5, 65)],
  };
  expect(mostlySpent([slow, slow])).toEqual([
    { deployment: 'Model', part: 'replica', share: 0.65 },
    { deployment: 'Front', part: 'queue', share: 0.1 },
    { deployment: 'Front', part: 'replica', share: 0.1 },
  ]);
  const queued = { proxy_ns: null, steps: [step('Front', 300, 100)] };
  expect(mostlySpent([queued])).toEqual([
    { deployment: 'Front', part: 'queue', share: 0.75 },
    { deployment: 'Front', part: 'replica', share: 0.25 },
  ]);
  expect(mostlySpent([])).toEqual([]);
});

it('gives no reason for states that need none', () => {
  const one = { message: null, status_trigger: 'CONFIG_UPDATE_COMPLETED' };
  expect(reasonOf(one)).toBeNull();
  expect(reasonOf({ ...one, status_trigger: 'UNSPECIFIED' })).toBeNull();
  expect(reasonOf({ ...one, status_trigger: 'HEALTH_CHECK_FAILED' })).toBe('HEALTH_CHECK_FAILED');
  expect(reasonOf({ ...one, message: 'no such model' })).toBe('no such model');
});
