import { Skeleton } from '@mantine/core';
import type { Column } from './columns';
import css from './DataTable.module.css';

const SKELETON_ROWS = Array.from({ length: 14 }, (_, at) => at);

/** Grey placeholder rows while a table is loading. */
export function TableSkeleton<T>({ columns }: { columns: Column<T>[] }) {
  return (
    <div data-testid="table-loading">
      {SKELETON_ROWS.map((at) => (
        <div key={at} className={css.skeletonRow}>
          {columns.map((column) => (
            <div key={column.id} className={css.cell} data-align={column.align}>
              <Skeleton height={10} width={column.grow ? `${40 + ((at * 17) % 40)}%` : '70%'} />
            </div>
          ))}
        </div>
      ))}
    </div>
  );
}
