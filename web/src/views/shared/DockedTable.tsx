import { IconArrowDown, IconArrowUp } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { count } from '../../base/format';
import { usePalette } from '../../ui/canvas';
import { Dash } from '../../ui/Dash';
import { sortRows } from '../../ui/table/columns';
import plain from '../../ui/theme/plainTable.module.css';
import words from '../../ui/theme/words.module.css';
import css from './DockedTable.module.css';
import panels from './panels.module.css';

export interface DockedColumn<T> {
  id: string;
  header: string;
  /** The value by which the table can be sorted. */
  value?: (row: T) => number | string | null;
  cell: (row: T) => ReactNode;
}

/** A sortable column of numbers. Unknown ones and 0 are a dash. */
export const numbers = <T,>(
  id: string,
  header: string,
  value: (row: T) => number | null,
  text: (value: number) => ReactNode,
): DockedColumn<T> => ({
  id,
  header,
  value,
  cell: (row) => {
    const number = value(row);
    return number === null || number === 0 ? <Dash /> : text(number);
  },
});

/** Maximum number of rows. */
export const MAX_DOCKED = 100;

/** A small table below a chart. A click on a row goes to it in the chart. */
export function DockedTable<T>(props: {
  label: string;
  testId: string;
  rows: readonly T[];
  keyOf: (row: T) => string;
  /** The title of the first column, and the function of a row; null has no color. */
  header: string;
  nameOf: (row: T) => { name: string; color: string | null };
  columns: DockedColumn<T>[];
  /** The column by which the table is sorted at first, with `-` for the greatest first. */
  sort?: string;
  selected?: string;
  /** Number of rows that `rows` leaves out. */
  left?: number;
  onPick: (row: T) => void;
  /** Whether a row is in the chart; every row is by default. */
  isThere?: (row: T) => boolean;
}) {
  const { columns, keyOf, nameOf, onPick, isThere = () => true } = props;
  const { t } = useTranslation();
  const palette = usePalette();
  const [chosen, setSort] = useState<string>();
  const sort = chosen ?? props.sort;
  const name: DockedColumn<T> = {
    id: 'name',
    header: props.header,
    ...(props.sort !== undefined && { value: (row: T) => nameOf(row).name }),
    cell: (row) => {
      const { name: text, color } = nameOf(row);
      return (
        <button type="button" className={words.state} title={text} disabled={!isThere(row)}>
          <span
            className={panels.swatch}
            style={{ background: color === null ? palette.line : palette.named(color) }}
          />
          <span className={`${words.ellipsis} ${words.name}`}>{text}</span>
        </button>
      );
    },
  };
  const all = [name, ...columns];
  const values = Object.fromEntries(all.flatMap(({ id, value }) => (value ? [[id, value]] : [])));
  const left = (props.left ?? 0) + Math.max(0, props.rows.length - MAX_DOCKED);
  return (
    <section className={css.docked} aria-label={props.label} data-testid={props.testId}>
      <table className={plain.table}>
        <thead>
          <tr>
            {all.map(({ id, header, value }) => {
              const isUp = sort === id;
              const isSorted = isUp || sort === `-${id}`;
              return (
                <th key={id} aria-sort={isSorted ? (isUp ? 'ascending' : 'descending') : undefined}>
                  {value === undefined ? (
                    header
                  ) : (
                    <button type="button" onClick={() => setSort(sort === `-${id}` ? id : `-${id}`)}>
                      {isSorted && (isUp ? <IconArrowUp size={12} /> : <IconArrowDown size={12} />)} {header}
                    </button>
                  )}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>
          {sortRows(props.rows, sort, (row, field) => values[field]?.(row))
            .slice(0, MAX_DOCKED)
            .map((row) => (
              <tr
                key={keyOf(row)}
                aria-current={keyOf(row) === props.selected || undefined}
                onClick={isThere(row) ? () => onPick(row) : undefined}
                data-testid={`${props.testId}-row`}
              >
                {all.map(({ id, cell }) => (
                  <td key={id} className={words.num}>
                    {cell(row)}
                  </td>
                ))}
              </tr>
            ))}
        </tbody>
      </table>
      {left > 0 && <p className={words.dim}>{t('common.moreRows', { n: count(left) })}</p>}
    </section>
  );
}
