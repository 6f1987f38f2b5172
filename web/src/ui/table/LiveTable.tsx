import { useCallback } from 'react';
import { type LiveList, PAGE_SIZE } from '../../api/useLiveList';
import { NoMatches } from '../EmptyState';
import { ErrorPanel } from '../ErrorPanel';
import { useSessionUrl } from '../useUrl';
import { DataTable, type DataTableProps } from './DataTable';
import type { ColumnChoice } from './TableMenu';

type ListProps =
  | 'listKey'
  | 'visibility'
  | 'rows'
  | 'loading'
  | 'outdated'
  | 'hasMore'
  | 'loadingMore'
  | 'onNearEnd'
  | 'newRows'
  | 'newRowsMax'
  | 'onShowNew'
  | 'onView';

/**
 * A live list as a table. `empty` is shown if the list has no entries at all; if only the filters exclude
 * them, the table shows its own note.
 */
export function LiveTable<T extends object>(
  props: Omit<DataTableProps<T>, ListProps> & { list: LiveList<T>; choice: ColumnChoice },
) {
  const { list, choice, empty, ...rest } = props;
  const [{ filters }] = useSessionUrl();
  if (list.error !== null && list.rows.length === 0) return <ErrorPanel error={list.error} />;
  return (
    <DataTable
      {...rest}
      listKey={JSON.stringify(filters)}
      visibility={choice.visibility}
      rows={list.rows}
      loading={list.loading}
      outdated={list.outdated}
      hasMore={list.hasMore}
      loadingMore={list.loadingMore}
      onNearEnd={list.loadMore}
      newRows={list.newRows}
      newRowsMax={PAGE_SIZE}
      onShowNew={list.showNew}
      onView={list.watch}
      empty={Object.keys(filters).length > 0 ? <NoMatches /> : empty}
    />
  );
}

/** The order in the URL, or the default order `usual`, which is left out of the URL. */
export function useSort(usual: string): readonly [string, (sort: string | undefined) => void] {
  const [url, change] = useSessionUrl();
  const set = useCallback(
    (next: string | undefined) =>
      change((before) => ({ ...before, sort: next === usual ? undefined : next })),
    [change, usual],
  );
  return [url.sort ?? usual, set];
}

/** The row that the URL opens in the drawer, and functions that open and close it. */
export function useOpenItem<T>(keyOf: (row: T) => string) {
  const [url, change] = useSessionUrl();
  const onOpen = useCallback(
    (row: T, how: { follow: boolean }) =>
      change((before) => ({ ...before, item: keyOf(row) }), { replace: how.follow }),
    [change, keyOf],
  );
  const close = useCallback(
    () => change((before) => ({ ...before, item: undefined, wide: undefined })),
    [change],
  );
  return { openKey: url.item, onOpen, close };
}
