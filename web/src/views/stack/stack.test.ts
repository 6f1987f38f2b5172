import { describe, expect, it } from 'vitest';
import type { StackNode } from '../../api/schema';
import { pausedTask } from '../../testing/paused';
import { type Activity, bucketOf, timeOf } from '../../ui/activity/activity';
import { bySituation, found, lines, pausedIn } from './stack';

function node(id: string, parent: string | null, more: Partial<StackNode> = {}): StackNode {
  return {
    id,
    parent,
    depth: 0,
    name: id,
    type: null,
    situation: 'running',
    count: 1,
    others: 0,
    total: 1,
    oldest_ns: null,
    newest_ns: null,
    deepest: 0,
    awaited: false,
    examples: [],
    blocked_on: [],
    folded_nodes: 0,
    folded_count: 0,
    ...more,
  };
}

const tree = [
  node('driver', null, { count: 0, situation: 'blocked' }),
  node('outer', 'driver'),
  node('leaf', 'outer', { awaited: true, count: 4, situation: 'queued' }),
  node('twig', 'outer'),
  node('loner', 'driver', { count: 2 }),
];
const names = (shown: ReturnType<typeof lines>) => shown.map((line) => line.node.id);

describe('the lines of a stack', () => {
  it('are all nodes, without the children of closed ones', () => {
    expect(names(lines(tree, new Set(), false, ''))).toEqual(['driver', 'outer', 'leaf', 'twig', 'loner']);
    const shown = lines(tree, new Set(['outer']), false, '');
    expect(names(shown)).toEqual(['driver', 'outer', 'loner']);
    expect(shown.map((line) => [line.parent, line.open])).toEqual([
      [true, true],
      [true, false],
      [false, true],
    ]);
    expect(names(lines(tree, new Set(['driver']), false, ''))).toEqual(['driver']);
  });
  it('are limited to what the job waits for, with its callers', () => {
    const shown = lines(tree, new Set(), true, '');
    expect(names(shown)).toEqual(['driver', 'outer', 'leaf']);
  });
  it('open on the path to a search hit', () => {
    const shown = lines(tree, new Set(['driver', 'outer']), false, ' LEA ');
    expect(names(shown)).toEqual(['driver', 'outer', 'leaf', 'twig', 'loner']);
    expect(shown.filter((line) => line.match).map((line) => line.node.id)).toEqual(['leaf']);
  });
  it('are counted by situation', () => {
    expect(bySituation(tree)).toEqual([
      ['queued', 4],
      ['running', 4],
    ]);
  });
});

it('a time and its bucket', () => {
  const activity: Activity = {
    session: 's',
    begin_ns: 1000,
    end_ns: 1400,
    bucket_ns: 100,
    in_flight: [0, 0, 0, 0],
    running: [0, 0, 0, 0],
    failed: [0, 0, 0, 0],
  };
  for (const bucket of [0, 1, 2, 3]) expect(bucketOf(activity, timeOf(activity, bucket) ?? 0)).toBe(bucket);
  expect([bucketOf(activity, 0), bucketOf(activity, 9000)]).toEqual([0, 3]);
  expect([timeOf(activity, -5), timeOf(activity, 99)]).toEqual([1050, 1350]);
});

it('ignores case', () => {
  expect(found('module.LeafTask', 'leaf')).toEqual(['module.', 'Leaf', 'Task']);
  expect(found('module', '')).toBeNull();
  expect(found('module', 'x')).toBeNull();
});

describe('paused tasks', () => {
  const example = (task_id: string, attempt = 0) => ({
    task_id,
    attempt,
    since_ns: 1,
    node_id: null,
    worker_pid: null,
  });
  const nodes = [
    node('a', null, { name: 'leaf', count: 9, examples: [example('t1'), example('t2', 1)] }),
    node('b', 'a', { name: 'leaf', count: 1, examples: [example('t3')] }),
    node('c', 'a', { name: 'leaf', count: 9, situation: 'queued' }),
  ];
  const paused = (task: Parameters<typeof pausedTask>[0], filters = {}, all = nodes) => [
    ...pausedIn(all, [pausedTask({ func_name: 'leaf', ...task })], filters).keys(),
  ];
  it('are at the node that names their attempt', () => {
    expect(paused({ task_id: 't3' })).toEqual(['b']);
    expect(paused({ task_id: 't2', attempt: 1, func_name: null })).toEqual(['a']);
  });
  it('are at the only node that can have them', () => {
    expect(paused({ task_id: 't9' })).toEqual(['a']);
    // Its first attempt is named, but this is the second.
    expect(paused({ task_id: 't3', attempt: 1 })).toEqual(['a']);
    expect(paused({ task_id: 't9' }, { job_id: '01000000' })).toEqual(['a']);
  });
  it('are nowhere if several nodes may have them, or none', () => {
    expect(paused({ task_id: 't9' }, {}, [...nodes, node('d', null, { name: 'leaf', count: 9 })])).toEqual(
      [],
    );
    expect(paused({ task_id: 't9' }, {}, [...nodes, node('d', null, { folded_nodes: 1 })])).toEqual([]);
    expect(paused({ task_id: 't9' }, { job_id: '02000000' })).toEqual([]);
    expect(paused({ task_id: 't9' }, { annotation: 'step=1' })).toEqual([]);
    expect(paused({ task_id: 't9', func_name: 'twig' })).toEqual([]);
  });
});
