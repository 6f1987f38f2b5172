/** Formats the numbers of charts. */

import { bytes, count, duration, zoned } from '../../base/format';

/**
 * `` (a plain number), `count`, `percent`, `ratio` (1 is 100 %), `s` or `bytes`; each of them also with `/s`.
 */
export type Unit = string;

const SUFFIXES = ['', 'k', 'M', 'G', 'T'];

/** Three digits: `0.25`, `12.5`, `1.23k`; whole numbers below 10,000 as they are. */
function plain(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return '0';
  if (size < 10_000 && Number.isInteger(value)) return count(value);
  if (size < 0.001 || size >= 1e15) return value.toExponential(1);
  if (size < 1_000) return String(Number(value.toPrecision(3)));
  const rounded = Number(value.toPrecision(3));
  const step = Math.min(SUFFIXES.length - 1, Math.floor(Math.log10(Math.abs(rounded)) / 3 + 1e-9));
  return `${Number((rounded / 1000 ** step).toPrecision(3))}${SUFFIXES[step]}`;
}

/** A value with its unit, short enough for an axis; `–` if there is none. */
export function valueText(value: number | null | undefined, unit: Unit = ''): string {
  if (value === null || value === undefined || Number.isNaN(value)) return '–';
  if (unit.endsWith('/s')) return `${valueText(value, unit.slice(0, -2))}/s`;
  if (value < 0 && (unit === 'bytes' || unit === 's')) return `−${valueText(-value, unit)}`;
  if (unit === 'bytes') return bytes(value < 1024 ? Number(value.toFixed(value < 10 ? 1 : 0)) : value);
  if (unit === 's') return duration(value * 1e9);
  if (unit === 'percent') return `${Number(value.toFixed(Math.abs(value) < 10 ? 1 : 0))}%`;
  if (unit === 'ratio') return valueText(value * 100, 'percent');
  return plain(value);
}

/** Tick distances of an axis that give round labels in this unit; undefined if decimal ones suit it. */
export function increments(unit: Unit): number[] | undefined {
  const base = unit.replace(/\/s$/, '');
  if (base === 'bytes') return Array.from({ length: 50 }, (_, at) => 2 ** at);
  if (base !== 's') return undefined;
  const small = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1].flatMap((one) => [one, 2 * one, 5 * one]);
  return [
    ...small,
    1,
    2,
    5,
    10,
    15,
    30,
    60,
    120,
    300,
    600,
    1800,
    3600,
    7200,
    21_600,
    43_200,
    86_400,
    432_000,
  ];
}

const DECIMALS = Array.from({ length: 16 }, (_, at) => at - 3).flatMap((power) =>
  [1, 2, 5].map((digit) => Number(`${digit}e${power}`)),
);

/** Tick distances of an axis of counts: whole numbers, if all counts are. */
export function countIncrements(lines: readonly { values: readonly (number | null)[] }[]): number[] {
  const isWhole = lines.every(({ values }) =>
    values.every((value) => value === null || Number.isInteger(value)),
  );
  return isWhole ? DECIMALS.filter((distance) => distance >= 1) : DECIMALS;
}

/**
 * Labels of the time axis, as precise as the distance between them (s) requires. The first label of a new day
 * is its date.
 */
export function timeMarks(millis: readonly number[], distance: number): string[] {
  let day = '';
  return millis.map((at) => {
    const text = zoned(at);
    const today = text.slice(5, 10);
    const isNew = day !== '' && today !== day;
    day = today;
    if (distance >= 86_400) return today;
    if (isNew) return today;
    return text.slice(11, distance < 60 ? 19 : 16);
  });
}
