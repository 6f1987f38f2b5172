import type { ReactNode } from 'react';

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
  cell: (row: T) => ReactNode;
}
