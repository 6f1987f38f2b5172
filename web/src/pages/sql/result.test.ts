import { expect, it } from 'vitest';
import { en } from './en';
import { QUESTIONS, TABLES } from './questions';
import { axesOf, isTime, parseAnswer, timeOf } from './result';

it('preserves integers that a double cannot hold', () => {
  const answer = parseAnswer(
    '{"columns":[["at","BIGINT"]],"rows":[[1795464855988086092],[7],[1.5],["\\\\ 1795464855988086092", [1795464855988086092]]]}',
  );
  expect(answer.rows).toEqual([
    ['1795464855988086092'],
    [7],
    [1.5],
    ['\\ 1795464855988086092', ['1795464855988086092']],
  ]);
  expect(timeOf('1795464855988086092', 'BIGINT')).toBe(1795464855988.086);
});

it('draws times as a line, and does not draw texts as numbers', () => {
  const columns: [string, string][] = [
    ['n', 'BIGINT'],
    ['who', 'VARCHAR'],
    ['end_ns', 'BIGINT'],
    ['took_ns', 'BIGINT'],
  ];
  const rows = [[3, '7', '1795464855988086092', 250_000_000]];
  expect(axesOf({ columns, rows })).toEqual({ x: [2, 1, 0, 3], y: [0, 3] });
  const sql = 'SELECT 1 FROM (SELECT 2 ORDER BY n) ORDER BY';
  expect(axesOf({ columns, rows }, `${sql} took_ns DESC`).y).toEqual([3, 0]);
  expect(axesOf({ columns, rows }, `${sql} 4, 1`).y).toEqual([3, 0]);
  expect(axesOf({ columns, rows }, `${sql} who`).y).toEqual([0, 3]);
  expect(isTime({ columns, rows }, 2)).toBe(true);
  expect(isTime({ columns, rows }, 3)).toBe(false);
  expect(timeOf('2026-01-01 00:00:00', 'TIMESTAMP')).toBe(Date.UTC(2026, 0, 1));
});

it('has a text for each question and table of the docs', () => {
  expect(QUESTIONS.map(({ key }) => key)).toEqual(Object.keys(en.sql.questionsOf));
  expect(TABLES.map(({ name }) => name).sort()).toEqual(Object.keys(en.sql.about).sort());
});
