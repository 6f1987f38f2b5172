import { expect, it } from 'vitest';
import type { FlameFrame, LinesAnswer, StackFrame } from '../../api/schema';
import { layout, type Node } from './flame';
import { lineNodes } from './lineNodes';

const frame = (parts: Partial<StackFrame>): StackFrame => ({
  id: '1',
  parent: null,
  depth: 0,
  kind: 'code',
  file: 'lib/train.py',
  line: 12,
  function: 'step',
  own: 0,
  value: 0,
  points: null,
  native: 0,
  ...parts,
});

const driver: Node = { frame: { id: '0', value: 9e9 } as FlameFrame, parent: null, children: [] };
const fit: Node = {
  frame: { id: 'f', parent: '0', kind: 'call', name: 'fit', value: 5e9 } as FlameFrame,
  parent: driver,
  children: [],
};
const answer = {
  samples: 100,
  frames: [
    frame({ id: '1', value: 90, own: 30, function: 'main', line: 3 }),
    frame({ id: '2', parent: '1', value: 60, own: 60 }),
    frame({ id: '3', kind: 'unknown', file: '', function: '', value: 5, own: 5 }),
    frame({ id: '4', parent: '2', kind: 'left_out', file: '', function: '…', value: 2 }),
    frame({ id: '5', parent: '9', value: 1 }),
  ],
} as LinesAnswer;

it('puts the sampled frames below the function, as shares of its samples', () => {
  const nodes = lineNodes(fit, answer, (kind) => kind);
  expect([...nodes.values()].map(({ frame }) => frame.name)).toEqual([
    'fit',
    'main · train.py:3',
    'step · train.py:12',
    'unknown',
    'left_out',
  ]);
  const boxes = layout(nodes.get('f') as Node, 'size', 0.001);
  expect(boxes.map(({ node, row, x, width }) => [node.frame.id, row, x, width])).toEqual([
    ['0', 0, 0, 1],
    ['f', 1, 0, 1],
    ['line:1', 2, 0, 0.9],
    ['line:3', 2, 0.9, 0.05],
    ['line:2', 3, 0, 0.6],
    ['line:4', 4, 0, 0.02],
  ]);
  expect(fit.children).toEqual([]);
  expect(fit.frame.value).toBe(5e9);
});

it('zooms in on a line', () => {
  const line = lineNodes(fit, answer, (kind) => kind).get('line:2') as Node;
  expect(layout(line, 'size', 0.001).map(({ node, width }) => [node.frame.id, width])).toEqual([
    ['0', 1],
    ['f', 1],
    ['line:1', 1],
    ['line:2', 1],
    ['line:4', 2 / 60],
  ]);
});
