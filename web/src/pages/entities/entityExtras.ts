import type { ReactNode } from 'react';
import type { Item } from '../../api/types';
import type { Column } from '../../ui/table/columns';

/** Additions of a page to the generic list of a kind. */
export interface Extras {
  /** Replace the generic column of a field, or add a column if the kind's order contains its name. */
  columns?: Record<string, Column<Item>>;
  /** Title of the drawer, where the generic one has no name. */
  title?: (item: Item) => string;
  /** Content next to the text field. */
  toolbar?: ReactNode;
  /** Content of the drawer above the fields. */
  detail?: (item: Item) => ReactNode;
  /** Fields that `detail` already shows. */
  hide?: ReadonlySet<string>;
}
