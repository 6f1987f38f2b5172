import { describe, expect, it } from 'vitest';
import type { PathFunction } from '../../api/schema';
import { parseUrl, type SessionUrl } from '../../base/url';
import { pausedTask } from '../../testing/paused';
import { edgeShape } from './logicalEdgeShape';
import { toSvg } from './logicalExport';
import { columnsFor, keepKnown, keepLayout, LEAF, type Places, type Rect, toElk } from './logicalLayout';
import {
  around,
  attemptsOf,
  hottest,
  type LogicalAnswer,
  type LogicalNode,
  matches,
  pausedIn,
  strokeOf,
  structureOf,
  toggleShown,
  toggleUnfolded,
  unfoldsBy,
  weighed,
  withoutMinor,
} from './logicalModel';

const figures = {
  attempts: 1,
  failed: 0,
  duration_ns: 5,
  executing_ns: 5,
  awaiting_ns: 0,
  blocked_ns: 0,
  output_bytes: 0,
  total_p50_ns: null,
  total_p95_ns: null,
  p50_ns: null,
  p95_ns: null,
};

const node = (id: string, kind: LogicalNode['kind'], parent: string | null = null): LogicalNode => ({
  ...figures,
  id,
  kind,
  parent,
  name: id,
  class_name: kind === 'class' ? id : null,
  actor_id: null,
  task_id: null,
  job_id: null,
  library: null,
  actors: null,
  is_expanded: false,
  states: { FINISHED: 1 },
});

const call = (source: string, target: string, attempts = 1) => ({
  ...figures,
  id: `call:${source}>${target}`,
  source,
  target,
  attempts,
});

const data = (source: string, target: string, bytes: number) => ({
  id: `data:${source}>${target}`,
  source,
  target,
  objects: 1,
  bytes,
  arguments: 1,
  argument_bytes: bytes,
  gets: 0,
  get_bytes: 0,
});

const graph: LogicalAnswer = {
  session: 's',
  attempts: 10,
  nodes: [
    node('driver', 'driver'),
    node('f', 'function'),
    node('C', 'class'),
    node('C.x', 'method', 'C'),
    node('C.y', 'method', 'C'),
  ],
  calls: [call('driver', 'f', 2), call('f', 'C.x', 4), call('C.x', 'C.y', 3), call('f', 'f')],
  data: [data('f', 'C.x', 100), data('C.y', 'f', 900)],
  folded: { functions: 0, attempts: 0, duration_ns: 0, drivers: 0, instances: {}, calls: {} },
  libraries: [],
  limit: 500,
  is_estimated: false,
  data_sampled: 1,
  data_unnamed: 0,
};

describe('the neighbours of a node', () => {
  it('counts a function that calls itself on both sides', () => {
    const near = around(graph, 'f');
    expect(near.callers.map((one) => [one.id, one.count])).toEqual([
      ['driver', 2],
      ['f', 1],
    ]);
    expect(near.callees.map((one) => one.id)).toEqual(['C.x', 'f']);
    expect(near.dataIn).toEqual([{ id: 'C.y', count: 1, bytes: 900 }]);
  });
  it('leaves out edges inside a box', () => {
    const near = around(graph, 'C');
    expect(near.callers.map((one) => one.id)).toEqual(['f']);
    expect(near.callees).toEqual([]);
    expect(near.dataOut.map((one) => one.id)).toEqual(['f']);
  });
});

it('changes its structure with nodes and edges, not with their numbers or order', () => {
  const busier = { ...graph, calls: graph.calls.map((edge) => ({ ...edge, attempts: 9 })).reverse() };
  expect(structureOf(busier)).toBe(structureOf(graph));
  expect(structureOf({ ...graph, data: [] })).not.toBe(structureOf(graph));
});

it('unfolds classes and functions that ran into boxes', () => {
  expect(graph.nodes.map(unfoldsBy)).toEqual([null, 'f', 'C', null, null]);
  expect(unfoldsBy({ ...node('f', 'function'), attempts: 0 })).toBeNull();
  const open = { ...node('f', 'function'), is_expanded: true };
  const one = { ...node('f@1', 'call', 'f'), name: 'f', task_id: 'abc' };
  const placed = toElk({ nodes: [open, one], calls: [], data: [] });
  expect(placed.children?.map((box) => [box.id, box.children?.map((leaf) => leaf.id)])).toEqual([
    ['f', ['f@1']],
  ]);
  expect(matches(one, 'ABC')).toBe(true);
});

it('marks the largest edges, unless that is all of them', () => {
  expect(hottest(graph.calls, (edge) => edge.attempts, 2)).toEqual(new Set(['call:f>C.x', 'call:C.x>C.y']));
  expect(hottest(graph.data, (edge) => edge.bytes, 2).size).toBe(0);
  const equal = [call('a', 'b', 9), call('a', 'c', 9), call('a', 'd', 9), call('b', 'e', 1)];
  expect(hottest(equal, (edge) => edge.attempts, 2).size).toBe(3);
  expect(hottest(equal.slice(0, 3), (edge) => edge.attempts, 2).size).toBe(0);
  expect(strokeOf(0, 100)).toBeLessThan(strokeOf(10, 100));
  expect(strokeOf(10, 100)).toBeLessThan(strokeOf(100, 100));
});

it('finds nodes by part of their name', () => {
  expect(graph.nodes.filter((one) => matches(one, ' c.X ')).map((one) => one.id)).toEqual(['C.x']);
  expect(graph.nodes.some((one) => matches(one, '  '))).toBe(false);
});

it('keeps its switches in the URL', () => {
  expect(toggleUnfolded({ unfold: 'A,B' }, 'unfold', 'A')).toEqual({ unfold: 'B' });
  expect(toggleUnfolded(undefined, 'expand', 'A')).toEqual({ expand: 'A' });
  expect(toggleUnfolded({ expand: 'A' }, 'fold', 'A')).toEqual({ expand: undefined });
  // The class was unfolded by default.
  expect(toggleUnfolded({ expand: 'A' }, 'fold', 'B')).toEqual({ fold: 'B' });
  expect(toggleUnfolded({ fold: 'B' }, 'expand', 'B')).toEqual({ fold: undefined });
  // Switching off the second kind switches the first one on again.
  expect(toggleShown({ calls: false, data: true }, 'data')).toBe('data');
  expect(toggleShown({ calls: false, data: true }, 'calls')).toBeUndefined();
});

it('links to the attempts of a node', () => {
  const url = parseUrl('/s/x/logical', '?job_id=01000000&node=f') as SessionUrl;
  expect(attemptsOf(url, node('f', 'function'))).toMatchObject({
    view: 'tasks',
    filters: { job_id: '01000000', func_name: 'f' },
    sort: '-duration_ns',
  });
  expect(attemptsOf(url, { ...node('d', 'driver'), job_id: '02000000' })?.filters.caller_task_id).toBe(
    `${'f'.repeat(40)}02000000`,
  );
  expect(attemptsOf(url, node('other', 'other'))).toBeNull();
});

describe('the layout', () => {
  const rect = (x: number, y: number): Rect => ({ x, y, ...LEAF });
  const box = (x: number, y: number, height: number): Rect => ({ x, y, width: 220, height });
  const before: Places = new Map([
    ['driver', rect(0, 0)],
    ['f', rect(300, 0)],
    ['C', box(600, 0, 206)],
    ['C.x', rect(612, 52)],
    ['C.y', rect(612, 130)],
  ]);

  it('nests methods in their class, and has every edge between two nodes', () => {
    const elk = toElk(graph);
    expect(elk.children?.map((child) => child.id)).toEqual(['driver', 'f', 'C']);
    expect(elk.children?.[2]?.children?.map((child) => child.id)).toEqual(['C.x', 'C.y']);
    expect(elk.edges?.map((edge) => edge.id)).toEqual([
      'call:driver>f',
      'call:f>C.x',
      'call:C.x>C.y',
      'data:f>C.x',
      'data:C.y>f',
    ]);
    // A data edge opposite to a call is laid out in the direction of the call.
    const back = toElk({ ...graph, data: [data('f', 'driver', 9)] }).edges?.at(-1);
    expect([back?.sources, back?.targets]).toEqual([['data back out driver'], ['data back in f']]);
  });
  it('does not move known nodes, and places new ones where there is room', () => {
    const grown = {
      ...graph,
      nodes: [...graph.nodes, node('g', 'function')],
      calls: [...graph.calls, call('driver', 'g')],
    };
    const after: Places = new Map([
      ['driver', rect(0, 500)],
      ['f', rect(300, 600)],
      ['g', rect(300, 500)],
      ['C', box(600, 500, 206)],
      ['C.x', rect(612, 552)],
      ['C.y', rect(612, 624)],
    ]);
    const kept = keepKnown(before, after, grown);
    for (const [id, place] of before) expect(kept.get(id), id).toEqual(place);
    expect(kept.get('g')).toEqual(rect(300, LEAF.height + 24));
  });
  it('lets a box that grew push down what is below it', () => {
    const crowded: Places = new Map([...before, ['g', rect(600, 260)]]);
    const grown = { ...graph, nodes: [...graph.nodes, node('g', 'function'), node('C.a', 'method', 'C')] };
    const after: Places = new Map([
      ...crowded,
      ['C', box(600, 0, 300)],
      ['C.a', rect(612, 52)],
      ['C.x', rect(612, 134)],
      ['C.y', rect(612, 216)],
    ]);
    const kept = keepKnown(crowded, after, grown);
    for (const id of ['f', 'C.x', 'C.y']) expect(kept.get(id), id).toEqual(before.get(id));
    expect(kept.get('C.a')).toEqual(rect(612, 130 + LEAF.height + 24));
    expect(kept.get('C')).toEqual(box(600, 0, 130 + 2 * LEAF.height + 24 + 12));
    expect(kept.get('g')).toEqual(rect(600, 130 + 2 * LEAF.height + 24 + 12 + 24));
  });
  it('draws edges that go back and round as well', () => {
    const a = rect(0, 0);
    const right = rect(400, 0);
    expect(edgeShape(a, right, 'call', false).path).toMatch(/^M 196 /);
    expect(edgeShape(right, a, 'call', false).path).toMatch(/^M 400 /);
    const same = edgeShape(a, rect(0, 200), 'data', false);
    expect(same.labels[0]?.x).toBeGreaterThan(LEAF.width);
    expect(edgeShape(a, a, 'call', true).labels[0]?.y).toBeLessThan(0);
    // The label of a long edge is in the gap before its end.
    expect(edgeShape(a, right, 'call', false).labels[0]?.x).toBeCloseTo(352, 0);
  });
  it('keeps the route of an edge while its ends stay or move together', () => {
    const way = [
      { x: 196, y: 20 },
      { x: 250, y: 20 },
      { x: 250, y: 120 },
      { x: 400, y: 120 },
    ];
    const shape = edgeShape(rect(0, 0), rect(400, 100), 'call', false, way);
    expect(shape.path).toBe('M 196 20 L 240 20 Q 250 20, 250 30 L 250 110 Q 250 120, 260 120 L 394 120');
    expect(shape.labels[0]).toEqual({ x: 346, y: 120 });

    const two = {
      nodes: [node('driver', 'driver'), node('f', 'function')],
      calls: [call('driver', 'f')],
      data: [],
    };
    const routes = new Map([['call:driver>f', way]]);
    const old = {
      places: new Map([
        ['driver', rect(0, 0)],
        ['f', rect(400, 100)],
      ]),
      routes,
    };
    const fresh = {
      places: new Map([
        ['driver', rect(9, 9)],
        ['f', rect(500, 9)],
      ]),
      routes: new Map(),
    };
    expect(keepLayout(old, fresh, two).routes.get('call:driver>f')).toEqual(way);
    const curved = keepLayout(
      { places: new Map([['f', rect(0, 0)]]), routes: new Map() },
      { ...fresh, routes },
      two,
    );
    expect(curved.routes.get('call:driver>f')?.[0]).toEqual({ x: 196 - 500, y: 20 - 9 });
  });
  it('spreads a fan over columns until it has the aspect ratio of a screen', () => {
    expect(columnsFor(900, 500)).toBe(1);
    const columns = columnsFor(500, 2400);
    expect(columns).toBeGreaterThan(1);
    expect(toElk(graph, columns).layoutOptions?.['elk.layered.layerUnzipping.layerSplit']).toBe(`${columns}`);
  });
  it('becomes a picture in which names are escaped', () => {
    const named = { ...graph, nodes: graph.nodes.map((one) => ({ ...one, name: '<b>&' })) };
    const { svg } = toSvg(
      named,
      { places: before, routes: new Map() },
      { calls: true, data: false },
      'dark',
      (one) => one.name ?? '',
    );
    expect(svg).toContain('&lt;b&gt;&amp;');
    expect(svg).not.toContain('<b>');
    expect(svg).not.toContain('stroke-dasharray');
    expect(svg.match(/>4×</g)).toHaveLength(1);
  });
});

it('leaves out tiny data and __init__, and counts what it leaves out', () => {
  const minor = {
    nodes: [
      node('d', 'driver'),
      node('C', 'class'),
      node('C.__init__', 'method', 'C'),
      node('C.x', 'method', 'C'),
    ],
    calls: [call('d', 'C.__init__'), call('d', 'C.x')],
    data: [data('C.x', 'd', 1023), data('d', 'C.x', 1024)],
  } as LogicalAnswer;
  const { graph, hidden } = withoutMinor(minor);
  expect(graph.nodes.map(({ id }) => id)).toEqual(['d', 'C', 'C.x']);
  expect(graph.calls.map(({ id }) => id)).toEqual(['call:d>C.x']);
  expect(graph.data.map(({ bytes }) => bytes)).toEqual([1024]);
  expect(hidden).toBe(3);
  // Small data edges stay if there are no larger ones.
  const small = withoutMinor({ ...minor, data: minor.data.slice(0, 1) });
  expect(small.graph.data.map(({ bytes }) => bytes)).toEqual([1023]);
  // A box keeps its only method.
  const alone = withoutMinor({ ...minor, nodes: minor.nodes.filter(({ id }) => id !== 'C.x') });
  expect(alone.graph.nodes).toHaveLength(3);
});

describe('paused tasks', () => {
  const method = (id: string, parent: string, actor_id: string | null): LogicalNode => ({
    ...node(id, 'method', parent),
    name: 'Pool.work',
    class_name: 'Pool',
    actor_id,
  });
  const instance = (id: string, actor_id: string | null): LogicalNode => ({
    ...node(id, 'instance', 'Pool'),
    class_name: 'Pool',
    actor_id,
  });
  const unfolded = [
    node('Pool', 'class'),
    instance('i1', 'actor1'),
    method('m1', 'i1', 'actor1'),
    instance('i', null),
    method('m', 'i', null),
  ];
  const calls = [
    { ...node('leaf', 'function'), is_expanded: true },
    { ...node('call', 'call', 'leaf'), name: 'leaf' },
    { ...node('call1', 'call', 'leaf'), name: 'leaf', task_id: 'task1' },
  ];
  const driver = { ...node('driver', 'driver'), name: null, job_id: '01000000' };
  const marks = (nodes: LogicalNode[], more: Parameters<typeof pausedTask>[0], filters = {}) => [
    ...pausedIn(nodes, [pausedTask(more)], filters).keys(),
  ];
  it('are at the function, whatever the task is called', () => {
    const nodes = [node('leaf', 'function'), node('twig', 'function'), driver];
    expect(marks(nodes, { func_name: 'leaf', name: 'twig' })).toEqual(['leaf']);
    expect(marks(nodes, { func_name: null, is_driver: true })).toEqual(['driver']);
    expect(marks(nodes, { func_name: null })).toEqual([]);
  });
  it('are at the method, its instance and its class', () => {
    expect(marks(unfolded, { func_name: 'Pool.work', actor_id: 'actor1' })).toEqual(['m1', 'i1', 'Pool']);
    expect(marks(unfolded, { func_name: 'Pool.work', actor_id: 'actor2' })).toEqual(['m', 'i', 'Pool']);
    // Constructors are hidden by default.
    expect(marks(unfolded, { func_name: 'Pool.__init__', actor_id: 'actor1' })).toEqual(['i1', 'Pool']);
  });
  it('are at the call and its function', () => {
    expect(marks(calls, { func_name: 'leaf', task_id: 'task1' })).toEqual(['call1', 'leaf']);
    expect(marks(calls, { func_name: 'leaf', task_id: 'task2' })).toEqual(['call', 'leaf']);
  });
  it('are counted by each node', () => {
    const tasks = ['task1', 'task2', 'task3'].map((task_id) => pausedTask({ func_name: 'leaf', task_id }));
    const paused = pausedIn(calls, tasks, {});
    expect(calls.map(({ id }) => paused.get(id)?.length)).toEqual([3, 2, 1]);
  });
  it('are left out if the filters may exclude them', () => {
    const leaf = [node('leaf', 'function')];
    expect(marks(leaf, { func_name: 'leaf' }, { job_id: '01000000' })).toEqual(['leaf']);
    expect(marks(leaf, { func_name: 'leaf' }, { job_id: '02000000' })).toEqual([]);
    expect(marks(leaf, { func_name: 'leaf' }, { error_type: 'OSError' })).toEqual([]);
  });
});

it('gives each function its share of the critical path, unless several nodes have it', () => {
  const named = (id: string, name: string, kind: LogicalNode['kind'] = 'function') => ({
    ...node(id, kind),
    name,
  });
  const leaves = [
    named('f', 'load'),
    named('g', 'rest'),
    named('a', 'A.run', 'method'),
    named('b', 'A.run', 'method'),
  ];
  const of = (name: string, share: number, is_driver = false) => ({ name, share, is_driver }) as PathFunction;
  const path = { functions: [of('load', 0.5), of('A.run', 0.3), of('', 0.2, true)] };
  expect([...weighed(leaves, 'critical_path', path)]).toEqual([
    ['f', 0.5],
    ['g', 0],
  ]);
  expect(weighed(leaves, 'critical_path', undefined).size).toBe(0);
  expect(weighed(leaves, 'executing', undefined).get('a')).toBe(5);
});
