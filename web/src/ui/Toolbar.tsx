import { Group } from '@mantine/core';
import type { ReactNode } from 'react';
import { FilterChips } from './filters/FilterChips';
import type { FilterField } from './filters/filters';
import { SearchField } from './SearchField';
import layout from './theme/layout.module.css';

/**
 * The bar above a page: at the left search and filters, at the right view options, the number of rows, and
 * the menu of the table.
 */
export function Toolbar(props: {
  /** The placeholder of the search field; none if absent. */
  search?: string;
  fields?: FilterField[];
  /** Filters that are always open, and notes. */
  children?: ReactNode;
  options?: ReactNode;
  count?: ReactNode;
  menu?: ReactNode;
}) {
  return (
    <div className={layout.bar} data-toolbar>
      {props.search !== undefined && <SearchField filter="q" placeholder={props.search} />}
      {props.children}
      {props.fields !== undefined && <FilterChips fields={props.fields} />}
      <Group gap={8} ml="auto">
        {props.options}
        {props.count}
        {props.menu}
      </Group>
    </div>
  );
}
