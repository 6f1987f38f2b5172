import { useCallback } from 'react';
import { useTranslation } from 'react-i18next';
import { type LiveList, PAGE_SIZE } from '../api/useLiveList';
import { count } from '../base/format';
import { type ColumnChoice, DataTable, type DataTableProps } from './DataTable';
import { NoMatches } from './EmptyState';
import { ErrorPanel } from './ErrorPanel';
import { useSessionUrl } from './useUrl';

type FromTheList =
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

/** A live list as a table: `empty` says that there is nothing at all, filters that leave nothing are told here. */
export function LiveTable<T extends object>(
  props: Omit<DataTableProps<T>, FromTheList> & { list: LiveList<T>; choice: ColumnChoice },
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

/** How many rows a list has; with `loaded` how many of them are here as well. */
export function TableCount<T>({ list, loaded }: { list: LiveList<T>; loaded?: boolean }) {
  const { t } = useTranslation();
  const { total, rows } = list;
  return (
    <span className="rs-num rs-dim rs-loaded" data-testid="table-count" data-total={total ?? undefined}>
      {total !== null &&
        (loaded
          ? t('table.loaded', { loaded: count(rows.length), total: count(total) })
          : t('table.all', { n: count(total), total: count(total) }))}
    </span>
  );
}

/** Shows or hides what Ray itself runs; nothing where there is none. */
export function InternalSwitch({ hidden }: { hidden: number }) {
  const [url, change] = useSessionUrl();
  const { t } = useTranslation();
  const shows = url.settings?.internal === 'show';
  if (hidden === 0 && !shows) return null;
  const label = shows ? t('internal.hide') : t('internal.show', { n: count(hidden) });
  return (
    <button
      type="button"
      className="rs-link"
      data-testid="internal"
      title={t('internal.hint')}
      onClick={() =>
        change((before) => ({
          ...before,
          settings: { ...before.settings, internal: shows ? undefined : 'show' },
        }))
      }
    >
      {label}
    </button>
  );
}

/** The order in the URL, or `usual`, which the URL does not name. */
export function useSort(usual: string): readonly [string, (sort: string | undefined) => void] {
  const [url, change] = useSessionUrl();
  const set = useCallback(
    (next: string | undefined) =>
      change((before) => ({ ...before, sort: next === usual ? undefined : next })),
    [change, usual],
  );
  return [url.sort ?? usual, set];
}

/** Which row the URL has in the panel, and how it gets there and away. */
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
