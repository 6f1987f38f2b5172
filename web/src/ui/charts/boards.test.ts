import { expect, it } from 'vitest';
import { boardName, filled, firstLook, moved, problemOf, tidied } from './boards';

it('puts values into expressions so that they stay inside their quotes', () => {
  const queries = [{ expr: 'x{node_id="$node_id"} / $other', legend: '{{a}}' }];
  expect(filled(queries, { node_id: 'a"} or y{b="\\' })?.[0]?.expr).toBe(
    'x{node_id="a\\"} or y{b=\\"\\\\"} / $other',
  );
  expect(filled(queries, { node_id: undefined })).toBeNull();
});

it('gives a dashboard a valid and unique file name', () => {
  expect(boardName('  GPU – Überblick #1 ', [])).toBe('gpu-uberblick-1');
  expect(boardName('集群', ['dashboard'])).toBe('dashboard-2');
  expect(boardName('a'.repeat(90), [])).toMatch(/^[a-z0-9][a-z0-9-]{0,63}$/);
});

it('moves charts up to the ends of the list', () => {
  expect(moved(['a', 'b', 'c'], 0, 1)).toEqual(['b', 'a', 'c']);
  expect(moved(['a', 'b', 'c'], 2, 1)).toEqual(['a', 'b', 'c']);
});

it('chooses the first expression by the type of the metric', () => {
  expect(firstLook('ray_x_bucket', 'histogram')).toContain('sum by (le) (rate(ray_x_bucket[5m]))');
  expect(firstLook('ray_x_total', 'counter')).toBe('rate(ray_x_total[1m])');
  expect(firstLook('ray_x', 'gauge')).toBe('ray_x');
});

it('saves no empty lines, and names what is missing', () => {
  const chart = {
    title: ' a ',
    queries: [{ expr: ' x ', legend: ' ' }, { expr: ' ' }],
    unit: '',
    width: 1 as const,
  };
  expect(tidied([chart])).toEqual([{ ...chart, title: 'a', queries: [{ expr: 'x' }] }]);
  expect(problemOf({ title: 't', charts: [chart] })).toBeNull();
  expect(problemOf({ title: ' ', charts: [] })).toBe('noTitle');
  expect(problemOf({ title: 't', charts: [{ ...chart, queries: [{ expr: '' }] }] })).toBe('noExpr');
});
