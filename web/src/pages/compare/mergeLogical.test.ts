import { expect, test } from 'vitest';
import type { LogicalAnswer, LogicalNode } from '../../views/logical/logicalModel';
import { kindOf, mergeLogical } from './mergeLogical';

type Item = { id: string; parent?: string; kind?: LogicalNode['kind']; count: number; size?: number };

/** A graph of nodes and of the edges `source>target`. */
function graph(nodes: Item[], calls: Item[] = [], data: Item[] = [], folded = 0): LogicalAnswer {
  const ends = ({ id }: Item) => {
    const [source, target] = id.split('>');
    return { source, target };
  };
  return {
    session: 's',
    attempts: nodes.reduce((sum, { count }) => sum + count, 0),
    nodes: nodes.map(({ id, parent = null, kind = 'function', count, size = 0 }) => ({
      ...{ id, parent, kind, attempts: count, executing_ns: size },
    })),
    calls: calls.map((one) => ({ ...one, ...ends(one), attempts: one.count, executing_ns: one.size ?? 0 })),
    data: data.map((one) => ({ ...one, ...ends(one), objects: one.count, bytes: one.size ?? 0 })),
    folded: { functions: folded },
  } as unknown as LogicalAnswer;
}

test('nodes and edges that came, went, grew or shrank', () => {
  const a = graph(
    [
      { id: 'driver:01', kind: 'driver', count: 0 },
      { id: 'f:load', count: 10, size: 100 },
      { id: 'f:resize', count: 3, size: 30 },
    ],
    [
      { id: 'driver:01>f:load', count: 10 },
      { id: 'f:load>f:resize', count: 3 },
    ],
    [{ id: 'f:load>f:resize', count: 3, size: 900 }],
  );
  const b = graph(
    [
      { id: 'driver:02', kind: 'driver', count: 0 },
      { id: 'f:load', count: 10, size: 130 },
      { id: 'f:augment', count: 4, size: 40 },
    ],
    [
      { id: 'driver:02>f:load', count: 10 },
      { id: 'f:load>f:augment', count: 4 },
    ],
  );
  const { graph: merged, changes } = mergeLogical(a, b);
  expect([...changes].map(([id, { kind }]) => [id, kind])).toEqual([
    ['driver', 'same'],
    ['f:load', 'grew'],
    ['f:resize', 'went'],
    ['f:augment', 'came'],
    ['call:driver>f:load', 'same'],
    ['call:f:load>f:resize', 'went'],
    ['call:f:load>f:augment', 'came'],
    ['data:f:load>f:resize', 'went'],
  ]);
  expect(merged.nodes.map(({ id, executing_ns }) => [id, executing_ns])).toEqual([
    ['driver', 0],
    ['f:load', 130],
    ['f:resize', 30],
    ['f:augment', 40],
  ]);
  expect(merged.calls.map(({ source, target }) => `${source}>${target}`)).toEqual([
    'driver>f:load',
    'f:load>f:resize',
    'f:load>f:augment',
  ]);
});

test('the actors of a class are one box, which is before its methods and has their sums', () => {
  const side = (one: string, other: string) =>
    graph(
      [
        { id: `m:M.step@${one}`, parent: `i:M@${one}`, kind: 'method', count: 2, size: 20 },
        { id: `m:M.step@${other}`, parent: `i:M@${other}`, kind: 'method', count: 3, size: 30 },
        { id: 'c:M', kind: 'class', count: 5, size: 50 },
        { id: `i:M@${one}`, parent: 'c:M', kind: 'instance', count: 2, size: 20 },
        { id: `i:M@${other}`, parent: 'c:M', kind: 'instance', count: 3, size: 30 },
      ],
      [
        { id: `m:M.step@${one}>m:M.step@${other}`, count: 3 },
        { id: `f:g>m:M.step@${one}`, count: 2 },
      ],
    );
  const { graph: merged, changes } = mergeLogical(side('aa', 'bb'), side('cc', ''));
  expect(merged.nodes.map(({ id, parent, attempts }) => [id, parent, attempts])).toEqual([
    ['c:M', null, 5],
    ['m:M.step', 'c:M', 5],
  ]);
  expect(changes.get('m:M.step')).toEqual({
    a: { count: 5, size: 50 },
    b: { count: 5, size: 50 },
    kind: 'same',
  });
  expect(merged.calls.map(({ id, attempts }) => [id, attempts])).toEqual([
    ['call:m:M.step>m:M.step', 3],
    ['call:f:g>m:M.step', 2],
  ]);
});

test('what a side may have folded is unknown', () => {
  const { changes } = mergeLogical(graph([], [], [], 2), graph([{ id: 'f:load', count: 1 }]));
  expect(changes.get('f:load')?.kind).toBe('unknown');
});

test('a small change is none', () => {
  const figures = (size: number) => ({ count: 1, size });
  const kind = (a: number, b: number) => kindOf({ a: figures(a), b: figures(b) }, 'size');
  expect([kind(100, 110), kind(100, 111), kind(100, 89), kind(0, 0), kind(0, 1)]).toEqual([
    'same',
    'grew',
    'shrank',
    'same',
    'grew',
  ]);
});
