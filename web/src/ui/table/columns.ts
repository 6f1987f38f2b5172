import type { ReactNode } from 'react';
import { cellText } from '../../base/csv';

/** Width of a column of times, px: fits a date without the year. */
export const TIME_WIDTH = 132;

/** A column of a DataTable. Widths are fixed, so that changing values never move other columns. */
export interface Column<T> {
  id: string;
  header: string;
  /** Tooltip of the header. */
  hint?: string;
  /** Width in px; the minimum width if `grow` is set. */
  width: number;
  /** Takes the remaining width. */
  grow?: boolean;
  align?: 'right';
  /** The API's sort field, if the column is sortable. */
  sort?: string;
  /** Hidden by default. */
  optional?: boolean;
  /** Hidden by default until a row needs it, because the column would say the same in every row. */
  needed?: (row: T) => boolean;
  /** The field of the row that copies and files contain; by default the one of `sort` or `id`. */
  field?: string;
  /** Its value, if it is not a field of the row. */
  value?: (row: T) => unknown;
  cell: (row: T) => ReactNode;
}

/** The rows of a list: those that are loaded, and how to load the others. */
export interface Rows<T> {
  rows: readonly T[];
  total?: number | null;
  /** Loads the first rows that match. */
  load?: (most: number) => Promise<readonly T[]>;
}

type Sortable = string | number | null | undefined;

/** Rows in the order `FIELD` or `-FIELD`, unknown values last; in their own order if it is undefined. */
export function sortRows<T>(
  rows: readonly T[],
  sort: string | undefined,
  fieldOf: (row: T, field: string) => Sortable,
): T[] {
  if (sort === undefined) return [...rows];
  const [field, sign] = sort.startsWith('-') ? [sort.slice(1), -1] : [sort, 1];
  return [...rows].sort((one, other) => {
    const [a, b] = [fieldOf(one, field) ?? null, fieldOf(other, field) ?? null];
    if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
    return sign * (typeof a === 'string' ? a.localeCompare(String(b)) : a - Number(b));
  });
}

/** The names of the columns' fields, as the API has them, and a line of values for each row. */
export function tableValues<T extends object>(columns: readonly Column<T>[], rows: readonly T[]) {
  const [first] = rows;
  const fields = columns.flatMap(({ id, sort, field, value }) => {
    const names = [field, sort, id, `${id}_ns`, `${id}_id`];
    const name = value ? field || id : names.find((one) => one && first !== undefined && one in first);
    // A column of buttons has no value.
    return name ? [{ name, of: value ?? ((row: T) => (row as Record<string, unknown>)[name]) }] : [];
  });
  return { names: fields.map(({ name }) => name), lines: rows.map((row) => fields.map(({ of }) => of(row))) };
}

/** Rows with a heading, separated by tabs, as spreadsheets take them. */
export function tableText<T extends object>(columns: readonly Column<T>[], rows: readonly T[]): string {
  const { names, lines } = tableValues(columns, rows);
  return [names, ...lines]
    .map((line) => line.map((value) => cellText(value).replace(/\s+/g, ' ')).join('\t'))
    .join('\n');
}
