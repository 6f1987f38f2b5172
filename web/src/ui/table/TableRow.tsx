import { memo } from 'react';
import type { Column } from './columns';
import css from './DataTable.module.css';

interface TableRowProps<T extends object> {
  row: T;
  rowKey: string;
  columns: Column<T>[];
  at: number;
  top: number;
  id: string;
  selected: boolean;
  clickable: boolean;
  onOpen: (row: T) => void;
  testId: string;
  kind: string | undefined;
}

function PlainRow<T extends object>(props: TableRowProps<T>) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: rows are positioned, which a <tr> cannot be.
    // biome-ignore lint/a11y/useKeyWithClickEvents: the table handles the keys for its rows.
    <div
      className={css.row}
      role="row"
      id={props.id}
      tabIndex={-1}
      aria-rowindex={props.at + 1}
      aria-selected={props.selected}
      data-testid={props.testId}
      data-kind={props.kind}
      data-key={props.rowKey}
      data-odd={props.at % 2 === 1 || undefined}
      data-clickable={props.clickable || undefined}
      style={{ transform: `translateY(${props.top}px)` }}
      onClick={() => {
        // Selecting text is not a click.
        if (window.getSelection()?.type !== 'Range') props.onOpen(props.row);
      }}
    >
      {props.columns.map((column) => (
        // biome-ignore lint/a11y/useSemanticElements: see above.
        // biome-ignore lint/a11y/useFocusableInteractive: the row is selected as a whole.
        <div
          key={column.id}
          className={css.cell}
          role="gridcell"
          data-column={column.id}
          data-align={column.align}
        >
          {column.cell(props.row)}
        </div>
      ))}
    </div>
  );
}

/** Renders again only when the row's values, place, selection or columns change. */
export const TableRow = memo(
  PlainRow,
  (a, b) =>
    a.row === b.row &&
    a.columns === b.columns &&
    a.at === b.at &&
    a.top === b.top &&
    a.selected === b.selected &&
    a.onOpen === b.onOpen,
) as typeof PlainRow;
