import { expect, test } from 'vitest';
import type { FlameAnswer, FlameFrame } from '../../api/schema';
import { layout, type Node, toNodes } from '../../views/flame/flame';
import { changeOf, dataOf, type FramePair, isOneSided, mergeFlames } from './mergeFlames';

/** A tree: the name of a frame, its own time, and what it calls. `…` is a frame of merged small ones. */
type Tree = [name: string, own: number, ...below: Tree[]];

function answer(...trees: Tree[]): FlameAnswer {
  const frames: FlameFrame[] = [];
  const add = ([name, own, ...below]: Tree, parent: string | null): number => {
    const id = String(frames.length);
    const kind = parent === null ? 'driver' : name === '…' ? 'other' : 'call';
    const frame = { id, parent, name: kind === 'call' ? name : null, kind, own, value: own, attempts: 1 };
    frames.push(frame as FlameFrame);
    for (const one of below) frame.value += add(one, id);
    return frame.value;
  };
  const total = add(['', 0, ...trees], null);
  return {
    frames,
    ancestors: [],
    total,
    attempts: frames.length,
    weight: 'executing',
  } as unknown as FlameAnswer;
}

const A = answer(['load', 10, ['clean', 5], ['resize', 20]], ['train', 30]);
const B = answer(['train', 45], ['load', 12, ['clean', 5], ['augment', 8, ['clean', 3]]]);

const pathOf = (node: Node | null): string =>
  node === null || node.parent === null ? '' : `${pathOf(node.parent)}/${node.frame.name ?? '…'}`;

const byPath = (a: FlameAnswer, b: FlameAnswer, width: 'a' | 'b' = 'b') => {
  const { answer, pairs } = mergeFlames(a, b, width);
  return new Map([...toNodes(answer)].map(([id, node]) => [pathOf(node), pairs.get(id) as FramePair]));
};

test('the tree has the call paths of both sides, with the time of each', () => {
  const values = [...byPath(A, B)].map(([path, { a, b }]) => [path, a?.value ?? null, b?.value ?? null]);
  expect(values).toEqual([
    ['', 65, 73],
    ['/load', 35, 28],
    ['/load/clean', 5, 5],
    ['/load/resize', 20, null],
    ['/load/augment', null, 11],
    ['/load/augment/clean', null, 3],
    ['/train', 30, 45],
  ]);
});

test.each(['a', 'b'] as const)(
  'the frames sum to the total of %s, and no part is more than its whole',
  (side) => {
    const { answer } = mergeFlames(A, B, side);
    const nodes = [...toNodes(answer).values()];
    expect(nodes[0]?.frame.value).toBe((side === 'a' ? A : B).total);
    expect(nodes.reduce((sum, { frame }) => sum + frame.own, 0)).toBe(answer.total);
    for (const { frame, children } of nodes)
      expect(children.reduce((sum, child) => sum + child.frame.value, frame.own)).toBe(frame.value);
    const boxes = layout(nodes[0] as Node, 'size', 1e-9);
    expect(boxes.map(({ node }) => pathOf(node)).includes('/load/resize')).toBe(side === 'a');
  },
);

test('the data has the figures of both sides, whichever is drawn', () => {
  const [a, b] = (['a', 'b'] as const).map((side) => dataOf(mergeFlames(A, B, side)));
  expect(a).toEqual(b);
  const resize = a?.frames.find(({ name }) => name === 'resize');
  expect([resize?.a?.value, resize?.b]).toEqual([20, null]);
});

test('a change is a share of the total, and the greatest one is known', () => {
  const pairs = byPath(A, B);
  expect(changeOf(pairs.get('/train') as FramePair, B.total)).toBe(15 / 73);
  expect(changeOf(pairs.get('/load/resize') as FramePair, B.total)).toBe(-20 / 73);
  expect(mergeFlames(A, B, 'b').most).toBe(20 / 73);
  expect(mergeFlames(A, B, 'a').most).toBe(20 / 65);
});

test('a path is one-sided unless the other side may have merged it', () => {
  const oneSided = (a: FlameAnswer) =>
    [...byPath(a, B)].filter(([, pair]) => isOneSided(pair)).map(([path]) => path);
  expect(oneSided(A)).toEqual(['/load/resize', '/load/augment', '/load/augment/clean']);
  const merged = answer(['load', 10, ['resize', 20], ['…', 5]], ['train', 30]);
  expect(oneSided(merged)).toEqual(['/load/resize']);
  const pair = byPath(merged, B).get('/load/augment/clean') as FramePair;
  expect(changeOf(pair, B.total)).toBeNull();
});

test('frames with the same name below the same path are one, and the sides may be empty', () => {
  const twice = byPath(answer(['load', 1], ['load', 2]), answer(['load', 4]));
  expect([...twice].map(([path, { a, b }]) => [path, a?.value, b?.value])).toEqual([
    ['', 3, 4],
    ['/load', 3, 4],
  ]);
  expect(mergeFlames(answer(), answer(), 'b').most).toBe(0);
});
