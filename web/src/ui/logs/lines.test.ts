import { expect, it } from 'vitest';
import type { LogLine, LogPage } from '../../api/schema';
import { marked, partsOf, searchOf, started, withAfter, withBefore } from './lines';

const line = (offset: number, text: string, is_whole = true): LogLine => ({
  offset,
  length: text.length + 1,
  text,
  time_ns: null,
  level: null,
  is_mark: false,
  is_cut: false,
  is_whole,
  styles: [],
});
const page = (lines: LogLine[], begin: number, next: number, prev: number | null = null): LogPage => ({
  session: 's',
  node_id: 'n',
  name: 'f',
  kind: 'other',
  live: true,
  problem: null,
  kept: 0,
  begin,
  end: next,
  size: next,
  next,
  prev,
  more: false,
  missing: [],
  lines,
});

it('replaces an incomplete line once it is complete', () => {
  const before = started(page([line(0, 'a'), line(2, 'hal', false)], 0, 2));
  const after = withAfter(before, page([line(2, 'half done'), line(12, 'b')], 2, 14));
  expect(after.lines.map((each) => each.text)).toEqual(['a', 'half done', 'b']);
  expect(withAfter(after, page([], 14, 14))).toBe(after);
});

it('prepends earlier lines', () => {
  const late = started(page([line(10, 'z')], 10, 12, 10));
  const all = withBefore(late, page([line(0, 'y')], 0, 10, null));
  expect([all.lines.map((each) => each.text), all.prev, all.next]).toEqual([['y', 'z'], null, 12]);
});

it('highlights search hits', () => {
  expect(marked('A.b a.B', searchOf('a.b', false))).toEqual([
    ['A.b', true],
    [' ', false],
    ['a.B', true],
  ]);
});

it('splits a line where its colors change, even after an emoji', () => {
  const plain = { color: null, background: null, bold: false, dim: false, italic: false, underline: false };
  const red = { ...plain, color: 'red', begin: 1, end: 6 };
  const parts = partsOf({ ...line(0, '😀ERROR disk'), styles: [red] }, searchOf('or d', false));
  expect(parts.map(({ text, found, style }) => [text, found, style?.color])).toEqual([
    ['😀', false, undefined],
    ['ERR', false, 'red'],
    ['OR', true, 'red'],
    [' d', true, undefined],
    ['isk', false, undefined],
  ]);
});
