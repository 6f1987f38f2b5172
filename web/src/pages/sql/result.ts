/** The rows of a result as chart data. */

import type { SqlAnswer } from '../../api/schema';

export type Value = string | number | boolean | null | object;
export type Result = SqlAnswer;

/** A row of the table with its index in the answer. */
export interface Row {
  at: number;
  values: Value[];
}

/** Matches a JSON string or a number. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/**
 * Parses an answer without loss of precision: an integer that a double cannot hold becomes a string of its
 * digits.
 */
export function parseAnswer(text: string): Result {
  const whole = text.replace(TOKENS, (token) =>
    token.length < 16 || !/^-?\d+$/.test(token) || Number.isSafeInteger(Number(token)) ? token : `"${token}"`,
  );
  return JSON.parse(whole) as Result;
}

/** Larger numbers are times (since 2001) in ns, because no duration is that long. */
const EPOCH_NS = 1e18;

/** A value as ms since the epoch if it is a time (ns since the epoch, or a timestamp), otherwise null. */
export function timeOf(value: Value, type: string): number | null {
  if (/^(TIMESTAMP|DATE)/.test(type) && typeof value === 'string') {
    const millis = Date.parse(/[zZ]|[+-]\d\d(:?\d\d)?$/.test(value) ? value : `${value.replace(' ', 'T')}Z`);
    return Number.isNaN(millis) ? null : millis;
  }
  const ns = numberOf(value, type);
  return ns !== null && ns >= EPOCH_NS && ns < 1e19 ? ns / 1e6 : null;
}

const NUMBER = /^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL)/;

export function numberOf(value: Value, type: string): number | null {
  if (!NUMBER.test(type) || value === null || typeof value === 'object' || value === '') return null;
  const number = Number(value);
  return Number.isFinite(number) ? number : null;
}

/** The index of the column by which a query orders its rows first; -1 if it names none. */
function orderedBy(sql: string, columns: Result['columns']): number {
  const last = [...sql.matchAll(/\bORDER\s+BY\s+(?:\w+\.)?(?:"([^"]+)"|(\w+))/gi)].at(-1);
  const key = (last?.[1] ?? last?.[2] ?? '').toLowerCase();
  return /^\d+$/.test(key) ? Number(key) - 1 : columns.findIndex(([name]) => name.toLowerCase() === key);
}

/** Indexes of the columns that can serve as axes of a chart, best first: of numbers, the one that orders the rows. */
export function axesOf(
  { columns, rows }: Pick<Result, 'columns' | 'rows'>,
  sql = '',
): { x: number[]; y: number[] } {
  const all = columns.map((_, at) => at);
  const every = (at: number, is: (value: Value, type: string) => boolean) => {
    const known = (rows as Value[][]).map((row) => row[at] ?? null).filter((value) => value !== null);
    return known.length > 0 && known.every((value) => is(value, columns[at]?.[1] ?? ''));
  };
  const times = all.filter((at) => every(at, (value, type) => timeOf(value, type) !== null));
  const numbers = all.filter(
    (at) => !times.includes(at) && every(at, (value, type) => numberOf(value, type) !== null),
  );
  const others = all.filter((at) => !times.includes(at) && !numbers.includes(at));
  const first = numbers.filter((at) => at === orderedBy(sql, columns));
  return { x: [...times, ...others, ...numbers], y: [...new Set([...first, ...numbers])] };
}

/** Whether the values of a column are times, which are drawn as a line. */
export const isTime = (result: Pick<Result, 'columns' | 'rows'>, at: number) =>
  (result.rows as Value[][]).some((row) => timeOf(row[at] ?? null, result.columns[at]?.[1] ?? '') !== null);

/** A query saved under a name. */
export interface SavedQuery {
  name: string;
  sql: string;
}
