import { describe, expect, it } from 'vitest';
import type { FramesAnswer, MergedFrame, StackNode } from '../../api/schema';
import { stackText, withFrames } from './frames';
import { lines } from './stack';

function node(id: string, parent: string | null, depth: number): StackNode {
  return {
    id,
    parent,
    depth,
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
  };
}

function frame(name: string, parent: string | null, depth: number): MergedFrame {
  return {
    id: name,
    parent,
    depth,
    kind: 'code',
    name,
    file: 'job.py',
    line: 7,
    count: 2,
    own: 0,
    active: 0,
    workers: 2,
    examples: [],
  };
}

const tree = [node('driver', null, 0), node('task', 'driver', 1), node('child', 'task', 2)];
const frames: FramesAnswer = {
  session: 's',
  at_ns: 1,
  whole: false,
  asked: 2,
  left_out: 0,
  folded_frames: 0,
  workers: [],
  problems: [],
  nodes: [
    {
      node: 'task',
      workers: 2,
      idle_threads: 0,
      frames: [
        frame('outer', null, 0),
        frame('fork', 'outer', 1),
        frame('left', 'fork', 2),
        frame('deeper', 'left', 3),
        frame('right', 'fork', 2),
      ],
    },
    { node: 'gone', workers: 1, idle_threads: 0, frames: [frame('x', null, 0)] },
  ],
};

function shown(closed: string[] = [], search = '') {
  const set = new Set(closed);
  return withFrames(lines(tree, set, false, search), frames, set, search);
}

describe('frames below their task', () => {
  it('precede the tasks that it called, without indentation until stacks branch', () => {
    expect(shown().map((row) => [row.id, row.level, row.indent, row.parent])).toEqual([
      ['driver', 1, 0, true],
      ['task', 2, 1, true],
      ['outer', 3, 2, false],
      ['fork', 4, 2, true],
      ['left', 5, 3, false],
      ['deeper', 6, 3, false],
      ['right', 5, 3, false],
      ['child', 3, 2, false],
    ]);
    expect(shown().find((row) => row.id === 'outer')?.above).toBe('task');
    expect(
      shown()
        .filter((row) => row.branch)
        .map((row) => row.id),
    ).toEqual(['outer', 'left', 'right']);
  });
  it('are hidden below a closed frame', () => {
    expect(shown(['fork']).map((row) => row.id)).toEqual(['driver', 'task', 'outer', 'fork', 'child']);
    expect(shown(['task']).map((row) => row.id)).toEqual(['driver', 'task']);
  });
  it('are found by their names', () => {
    expect(
      shown([], 'DEEP')
        .filter((row) => row.match)
        .map((row) => row.id),
    ).toEqual(['deeper']);
  });
  it('do not change the stack if there are none', () => {
    const plain = lines(tree, new Set(), false, '');
    expect(withFrames(plain, undefined, new Set(), '').map((row) => row.id)).toEqual([
      'driver',
      'task',
      'child',
    ]);
  });
});

it('a stack as text goes from the innermost frame out', () => {
  const all = frames.nodes[0]?.frames ?? [];
  const innermost = all[3];
  expect(innermost && stackText(all, innermost)).toBe(
    'deeper (job.py:7)\nleft (job.py:7)\nfork (job.py:7)\nouter (job.py:7)',
  );
});
