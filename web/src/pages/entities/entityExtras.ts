import type { ReactNode } from 'react';
import type { Item } from '../../api/types';
import type { Column } from '../../ui/table/columns';

/** What a page adds to the plain list of a kind. */
export interface Extras {
  /** In place of the plain column of a field, or one more where the kind's order has its name. */
  columns?: Record<string, Column<Item>>;
  /** Of the drawer, where the plain one does not name it. */
  title?: (item: Item) => string;
  /** Beside the text field. */
  toolbar?: ReactNode;
  /** In the drawer, above the fields. */
  detail?: (item: Item) => ReactNode;
  /** Fields that `detail` shows in its own way. */
  hide?: ReadonlySet<string>;
}
