import { expect, test } from 'vitest';
import type { FlameAnswer, FlameFrame } from '../../api/schema';
import {
  change,
  edges,
  found,
  functionsBelow,
  layout,
  lineOf,
  matcher,
  measuredMemory,
  type Node,
  neighbour,
  scaleOf,
  shareText,
  toNodes,
} from './flame';
import { valueText } from './flameText';

function frame(id: string, parent: string | null, value: number, more: Partial<FlameFrame> = {}): FlameFrame {
  return {
    id,
    parent,
    name: id,
    kind: 'call',
    depth: 0,
    own: 0,
    value,
    attempts: 1,
    failed: 0,
    running: 0,
    duration_ns: 0,
    executing_ns: 0,
    awaiting_ns: 0,
    blocked_ns: 0,
    bytes: 0,
    cpu_ns: 0,
    cpu_known: 0,
    memory_byte_seconds: 0,
    memory_known: 0,
    memory_shared: 0,
    p95_memory: null,
    max_memory: null,
    first_ns: null,
    p50_ns: null,
    p95_ns: null,
    max_ns: null,
    folded: 0,
    baseline_own: null,
    baseline_value: null,
    ...more,
  };
}

function answer(frames: FlameFrame[], ancestors: FlameFrame[] = []): FlameAnswer {
  return {
    session: 's',
    weight: 'executing',
    path_job_id: null,
    total: 100,
    attempts: 4,
    baseline_total: null,
    focus: null,
    ancestors,
    frames,
    frames_total: frames.length,
    folded: 0,
    libraries: [],
  };
}

const NODES = toNodes(
  answer([
    frame('0', null, 100),
    frame('small', '0', 20, { first_ns: 5 }),
    frame('large', '0', 60, { first_ns: 9 }),
    frame('other/0', '0', 10, { kind: 'other', name: null, first_ns: 1 }),
    frame('inner large', 'large', 30),
  ]),
);
const node = (id: string) => {
  const known = NODES.get(id);
  if (known === undefined) throw new Error(id);
  return known;
};
const places = (order: 'size' | 'time', zoomed = '0', least = 0) =>
  layout(node(zoomed), order, least).map((box) => [box.node.frame.id, box.row, box.x, box.width]);

test('children are below their parent, largest first or earliest first, the rest last', () => {
  expect(places('size')).toEqual([
    ['0', 0, 0, 1],
    ['large', 1, 0, 0.6],
    ['small', 1, 0.6, 0.2],
    ['other/0', 1, 0.8, 0.1],
    ['inner large', 2, 0, 0.3],
  ]);
  expect(places('time').map(([id]) => id)).toEqual(['0', 'small', 'large', 'other/0', 'inner large']);
  expect(places('time')[2]).toEqual(['large', 1, 0.2, 0.6]);
});

test('a frame that is zoomed into fills the width under those above it', () => {
  expect(places('size', 'large')).toEqual([
    ['0', 0, 0, 1],
    ['large', 1, 0, 1],
    ['inner large', 2, 0, 0.5],
  ]);
  expect(lineOf(node('inner large')).map((one) => one.frame.id)).toEqual(['0', 'large', 'inner large']);
});

test('a box that is too narrow leaves its place empty', () => {
  expect(places('size', '0', 0.15).map(([id]) => id)).toEqual(['0', 'large', 'small', 'inner large']);
  expect(places('time', '0', 0.3)).toContainEqual(['large', 1, 0.2, 0.6]);
});

test('nested search hits count once', () => {
  const matches = matcher(' LARGE ');
  if (matches === null) throw new Error('no search');
  expect(found(node('0'), matches)).toEqual({ frames: 2, value: 60 });
  expect(found(node('small'), matches)).toEqual({ frames: 0, value: 0 });
  expect(matcher('  ')).toBeNull();
});

test('a subtree hangs under its ancestors', () => {
  const nodes = toNodes(answer([frame('b', 'a', 3)], [frame('0', null, 9), frame('a', '0', 5)]));
  expect([...nodes.keys()]).toEqual(['0', 'a', 'b']);
  expect(nodes.get('b')?.parent?.parent?.frame.id).toBe('0');
});

test('arrow keys lead to neighbours and stay inside', () => {
  const boxes = layout(node('0'), 'size', 0);
  const at = (id: string) => boxes.find((box) => box.node.frame.id === id) ?? boxes[0];
  const from = (id: string, key: string) => {
    const start = at(id);
    return start && neighbour(boxes, start, key).node.frame.id;
  };
  expect(from('0', 'ArrowDown')).toBe('large');
  expect(from('large', 'ArrowRight')).toBe('small');
  expect(from('large', 'ArrowLeft')).toBe('large');
  expect(from('small', 'ArrowDown')).toBe('small');
  expect(from('inner large', 'ArrowUp')).toBe('large');
});

test('shares are compared for two ranges of time', () => {
  const scale = scaleOf({ total: 100, baseline_total: 400 }, true);
  expect(change(frame('a', null, 25, { baseline_value: 100 }), scale)).toBe(0);
  expect(change(frame('a', null, 50, { baseline_value: 100 }), scale)).toBe(0.5);
  expect(scaleOf({ total: 100, baseline_total: 400 }, false)).toBe(1);
  expect(scaleOf({ total: 0, baseline_total: 400 }, true)).toBe(1);
});

test('changes and shares', () => {
  expect(change(frame('a', null, 5))).toBeNull();
  expect(change(frame('a', null, 5, { baseline_value: 0 }))).toBe(1);
  expect(change(frame('a', null, 0, { baseline_value: 5 }))).toBe(-1);
  expect(change(frame('a', null, 5, { baseline_value: 10 }))).toBe(-0.5);
  expect(change(frame('a', null, 0, { baseline_value: 0 }))).toBe(0);
  expect([shareText(1, 3), shareText(1, 30), shareText(1, 1e6), shareText(0, 0)]).toEqual([
    '33%',
    '3.3%',
    '<0.1%',
    '0%',
  ]);
});

test('boxes of overlapping calls neither overlap nor reach beyond their caller', () => {
  // A caller of 1 s wall time, and 300 concurrent calls that each took as long. Their sum is its width.
  const calls = Array.from({ length: 300 }, (_, at) => frame(`call ${at}`, 'caller', 1e9 + at * 7919));
  const sum = calls.reduce((total, call) => total + call.value, 0);
  const tree = toNodes(answer([frame('caller', null, sum + 1e9), ...calls]));
  const boxes = layout(tree.get('caller') as NonNullable<ReturnType<typeof tree.get>>, 'time', 0);
  for (const width of [200, 333, 1001]) {
    const [caller, ...below] = boxes.map((box) => edges(box, width));
    let end = 0;
    for (const { left, right } of below) {
      expect(left).toBe(end);
      expect(right).toBeGreaterThanOrEqual(left);
      end = right;
    }
    expect(caller).toEqual({ left: 0, right: width });
    expect(end).toBeLessThanOrEqual(width);
  }
});

test('memory over time has its own unit, and says how much of it is known', () => {
  expect(valueText(3 * 2 ** 30, 'memory_time')).toBe('3.00 GiB·s');
  const frames = [
    frame('0', null, 100, { attempts: 0 }),
    frame('a', '0', 60, { attempts: 5, memory_known: 2, memory_shared: 1 }),
    frame('b', '0', 40, { attempts: 4, memory_known: 4 }),
  ];
  expect(measuredMemory(answer(frames))).toEqual({ known: 6, shared: 1, attempts: 9 });
});

test('a function is the sum of its frames, but what recursion nests counts once', () => {
  const nodes = toNodes(
    answer([
      frame('0', null, 100, { name: null, kind: 'driver', own: 10 }),
      frame('a', '0', 60, { name: 'f', own: 40, baseline_value: 50 }),
      frame('aa', 'a', 20, { name: 'f', own: 20, baseline_value: 20 }),
      frame('b', '0', 30, { name: 'g', baseline_value: 0 }),
      frame('ba', 'b', 30, { name: 'f', own: 30, baseline_value: 5 }),
    ]),
  );
  const rows = functionsBelow([...nodes.values()][0] as Node);
  expect(rows.map((row) => [row.id, row.own, row.value, row.attempts, row.baseline_value])).toEqual([
    ['0', 10, 100, 1, null],
    ['a', 90, 90, 3, 55],
    ['b', 0, 30, 1, 0],
  ]);
});
