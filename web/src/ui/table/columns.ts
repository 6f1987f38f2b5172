import type { ReactNode } from 'react';

/** A column of a DataTable. Widths are fixed, so that values that change never move their neighbours. */
export interface Column<T> {
  id: string;
  header: string;
  /** What the header means, on hover. */
  hint?: string;
  /** px; the least width if `grow` is set. */
  width: number;
  /** Takes what is left of the width. */
  grow?: boolean;
  align?: 'right';
  /** The API's sort field, if it can be sorted by. */
  sort?: string;
  /** Not shown unless chosen. */
  optional?: boolean;
  cell: (row: T) => ReactNode;
}
