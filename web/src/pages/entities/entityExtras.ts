import type { ReactNode } from 'react';
import type { Item } from '../../api/types';
import type { Column } from '../../ui/table/columns';

/** Additions of a page to the generic list of its kind of entity. */
export interface Extras {
  /**
   * Columns that replace the generic ones. A new column is shown if the kind's order of columns contains its
   * name.
   */
  columns?: Record<string, Column<Item>>;
  /** Title of the drawer, for entities whose generic title would contain no name. */
  title?: (item: Item) => string;
  /** Content next to the search field. */
  toolbar?: ReactNode;
  /** Content of the drawer above the fields. */
  detail?: (item: Item) => ReactNode;
  /** Fields that `detail` already shows. */
  hide?: ReadonlySet<string>;
}
