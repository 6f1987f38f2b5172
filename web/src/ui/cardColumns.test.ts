import { expect, it } from 'vitest';
import { type CardLink, columnsOf } from './cardColumns';

it('puts each card to the right of all cards that link to it', () => {
  const diamond: CardLink[] = [
    ['A', 'B'],
    ['A', 'D'],
    ['B', 'C'],
    ['B', 'D'],
    ['C', 'D'],
  ];
  expect(columnsOf(['D', 'C', 'B', 'A'], diamond)).toEqual([['A'], ['B'], ['C'], ['D']]);
});

it('keeps the order of cards side by side', () => {
  const union: CardLink[] = [
    ['in0', 'read1'],
    ['in2', 'read3'],
    ['read1', 'union4'],
    ['read3', 'union4'],
  ];
  const ids = ['in0', 'read1', 'in2', 'read3', 'union4'];
  expect(columnsOf(ids, union)).toEqual([['in0', 'in2'], ['read1', 'read3'], ['union4']]);
  expect(columnsOf(['B', 'A'], [])).toEqual([['B', 'A']]);
});

it('terminates for cycles of any length', () => {
  const circle: CardLink[] = [
    ['A', 'B'],
    ['B', 'C'],
    ['C', 'A'],
    ['C', 'C'],
  ];
  expect(columnsOf(['A', 'B', 'C'], circle)).toEqual([['A'], ['B'], ['C']]);
  const ids = Array.from({ length: 2000 }, (_, at) => `${at}`);
  const chain = ids.slice(1).map((to, at): CardLink => [`${at}`, to]);
  expect(columnsOf(ids, chain)).toHaveLength(2000);
});
