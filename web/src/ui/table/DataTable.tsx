import { Loader } from '@mantine/core';
import { IconArrowUpBar } from '@tabler/icons-react';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { linkTo } from '../../base/address';
import { sizes } from '../../base/tokens';
import { formatUrl, type Url } from '../../base/url';
import { useCopied } from '../useCopied';
import { useKeys } from '../useKeys';
import { go } from '../useUrl';
import { type Column, tableText } from './columns';
import css from './DataTable.module.css';
import { HeaderCell } from './HeaderCell';
import { type CopyForm, TableRow } from './TableRow';
import { TableSkeleton } from './TableSkeleton';
import { useColumnOverflow } from './useColumnOverflow';
import { useRowHeight } from './useRowHeight';

export interface DataTableProps<T extends object> {
  /** Identifies the list. When it changes (filters, order), the table scrolls to the top. */
  listKey?: string;
  testId: string;
  rowTestId: string;
  /** The kind of a row, used as its `data-kind` attribute. */
  kindOf?: (row: T) => string;
  label: string;
  columns: Column<T>[];
  /** The visible columns (see useColumnChoice); all if absent. */
  visibility?: Record<string, boolean>;
  rows: T[];
  keyOf: (row: T) => string;
  sort?: string;
  onSort?: (sort: string | undefined) => void;
  /** The row that is open in the drawer. */
  openKey?: string;
  onOpen?: (row: T, how: { follow: boolean }) => void;
  /** The page that a row opens, instead of `onOpen`; a click with Ctrl or Cmd opens it in a new tab. */
  linkOf?: (row: T) => Url | undefined;
  /** Ticks a row, or removes its tick. */
  onTick?: (row: T) => void;
  loading?: boolean;
  outdated?: boolean;
  hasMore?: boolean;
  loadingMore?: boolean;
  onNearEnd?: () => void;
  newRows?: number;
  newRowsMax?: number;
  onShowNew?: () => void;
  onView?: (view: { firstRow: number; lastRow: number; frozen: boolean }) => void;
  /** Shown instead of rows if there are none. */
  empty: ReactNode;
  /** The table is as high as its rows, but at most as high as this many. */
  maxRows?: number;
  /** A row as it is copied as JSON; the row itself if absent. */
  jsonOf?: (row: T) => object;
  /** Further actions on a row, in its menu. */
  actions?: (row: T) => ReactNode;
}

/** A virtualised table: only the rows on screen are rendered, however many are loaded. */
export function DataTable<T extends object>(props: DataTableProps<T>) {
  const { columns, visibility, rows, keyOf, onOpen, onNearEnd, onView, openKey, maxRows } = props;
  const { t } = useTranslation();
  const scroller = useRef<HTMLDivElement>(null);
  const [cursor, setCursor] = useState<string | null>(null);
  const [scrolled, setScrolled] = useState(false);
  const rowHeight = useRowHeight();

  const virtual = useVirtualizer({
    count: rows.length + (props.hasMore ? 1 : 0),
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
    // The header takes up part of the height. Without this, the last row would end below the edge.
    scrollPaddingEnd: sizes.tableHeadHeight,
    getItemKey: useCallback(
      (at: number) => {
        const row = rows[at];
        return row === undefined ? 'more' : keyOf(row);
      },
      [rows, keyOf],
    ),
  });
  const shown = virtual.getVirtualItems();
  const first = shown[0]?.index ?? 0;
  const last = shown[shown.length - 1]?.index ?? 0;

  // The rows keep the size that they were measured with.
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the density changes.
  useLayoutEffect(() => virtual.measure(), [rowHeight]);

  const visible = useMemo(
    () => columns.filter((column) => visibility?.[column.id] ?? true),
    [columns, visibility],
  );
  const template = visible
    .map((column) => (column.grow ? `minmax(${column.width}px, 1fr)` : `${column.width}px`))
    .join(' ');
  const least = visible.reduce((sum, column) => sum + column.width, sizes.tablePadding + 32);

  const nearEnd = rows.length > 0 && last >= rows.length - 40;
  useEffect(() => {
    if (nearEnd && props.hasMore && !props.loadingMore) onNearEnd?.();
  }, [nearEnd, props.hasMore, props.loadingMore, onNearEnd]);

  const [beyond, lookBeyond] = useColumnOverflow(scroller, least);

  const frozen = scrolled || openKey !== undefined;
  useLayoutEffect(() => {
    onView?.({ firstRow: first, lastRow: last, frozen });
  }, [onView, first, last, frozen]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the list changes.
  useEffect(() => {
    scroller.current?.scrollTo({ top: 0 });
  }, [props.listKey, props.sort]);

  const opens = onOpen !== undefined || props.linkOf !== undefined;
  const openRow = (row: T, inNewTab: boolean) => {
    const to = props.linkOf?.(row);
    if (to === undefined) onOpen?.(row, { follow: false });
    else if (inNewTab) window.open(linkTo(formatUrl(to)));
    else go(to);
  };
  const latest = useRef({ keyOf, openRow });
  latest.current = { keyOf, openRow };
  const cursorAt = () => {
    const active = cursor ?? openKey ?? null;
    return active === null ? -1 : rows.findIndex((row) => keyOf(row) === active);
  };
  const step = (by: number) => () => {
    // Without a selection, start with the first visible row.
    const top = Math.ceil((scroller.current?.scrollTop ?? 0) / rowHeight);
    const at = cursorAt();
    const next = at < 0 ? top : Math.max(0, Math.min(rows.length - 1, at + by));
    const row = rows[next];
    if (row === undefined) return false;
    setCursor(keyOf(row));
    virtual.scrollToIndex(next, { align: 'auto' });
    if (openKey !== undefined) onOpen?.(row, { follow: true });
    return true;
  };
  const onChosen = (run: (row: T, event: KeyboardEvent) => void) => (event: KeyboardEvent) => {
    const row = rows[cursorAt()];
    if (row !== undefined) run(row, event);
    return row !== undefined;
  };
  const [isCopied, copyRow] = useCopyRow(visible, props.jsonOf);
  const copy = (row: T, event: KeyboardEvent) => copyRow(row, event.shiftKey ? 'json' : 'text');
  useKeys(
    t('keys.list'),
    !opens
      ? []
      : [
          { keys: ['j', 'ArrowDown'], label: t('keys.nextRow'), run: step(1) },
          { keys: ['k', 'ArrowUp'], label: t('keys.previousRow'), run: step(-1) },
          { keys: ['Enter'], label: t('keys.openRow'), run: onChosen((row) => openRow(row, false)) },
          ...(props.onTick ? [{ keys: [' '], label: t('keys.tickRow'), run: onChosen(props.onTick) }] : []),
          { keys: ['c'], label: t('keys.copyRow'), run: onChosen(copy) },
        ],
  );

  const open = useCallback((row: T, inNewTab: boolean) => {
    setCursor(latest.current.keyOf(row));
    latest.current.openRow(row, inNewTab);
  }, []);

  const active = openKey ?? cursor ?? undefined;
  return (
    <div
      className={maxRows === undefined ? css.table : `${css.table} ${css.boxed}`}
      style={
        {
          '--rs-row-height': `${rowHeight}px`,
          ...(maxRows !== undefined && {
            height: sizes.tableHeadHeight + rowHeight * Math.max(4, Math.min(maxRows, rows.length)) + 14,
          }),
        } as React.CSSProperties
      }
      data-testid={props.testId}
      data-outdated={props.outdated || undefined}
      data-more-left={beyond.left || undefined}
      data-more-right={beyond.right || undefined}
    >
      {frozen && (
        <NewRows
          {...props}
          onClick={() => {
            props.onShowNew?.();
            scroller.current?.scrollTo({ top: 0 });
          }}
        />
      )}
      {/* biome-ignore lint/a11y/useSemanticElements: rows are positioned, which a <table> cannot do. */}
      <div
        ref={scroller}
        className={css.scroll}
        role="grid"
        aria-label={props.label}
        aria-rowcount={rows.length}
        aria-busy={props.loading}
        aria-activedescendant={active === undefined ? undefined : `${props.testId}-${active}`}
        tabIndex={0}
        onScroll={(event) => {
          setScrolled(event.currentTarget.scrollTop > 4);
          lookBeyond();
        }}
      >
        <div
          className={css.inner}
          style={{ '--rs-columns': template, minWidth: least } as React.CSSProperties}
        >
          {/* biome-ignore lint/a11y/useSemanticElements: see above. */}
          {/* biome-ignore lint/a11y/useFocusableInteractive: the buttons inside take the focus. */}
          <div className={css.head} role="row">
            {visible.map((column) => (
              <HeaderCell key={column.id} column={column} sort={props.sort} onSort={props.onSort} />
            ))}
          </div>
          {props.loading ? (
            <TableSkeleton columns={visible} />
          ) : rows.length === 0 ? null : (
            <div className={css.body} style={{ height: virtual.getTotalSize() }}>
              {shown.map((item) => {
                const row = rows[item.index];
                if (row === undefined) {
                  return (
                    <div key="more" className={css.more} style={{ transform: `translateY(${item.start}px)` }}>
                      <Loader size={14} /> {t('table.loadingMore')}
                    </div>
                  );
                }
                const key = keyOf(row);
                return (
                  <TableRow
                    key={key}
                    row={row}
                    rowKey={key}
                    columns={visible}
                    at={item.index}
                    top={item.start}
                    id={`${props.testId}-${key}`}
                    selected={key === active}
                    clickable={opens}
                    onOpen={open}
                    onCopy={copyRow}
                    actions={props.actions}
                    testId={props.rowTestId}
                    kind={props.kindOf?.(row)}
                  />
                );
              })}
            </div>
          )}
        </div>
      </div>
      {!props.loading && rows.length === 0 && <div className={css.empty}>{props.empty}</div>}
      <div className={css.edge} aria-hidden />
      {isCopied && (
        <span className={css.pill} data-place="bottom" role="status">
          {t('common.copied')}
        </span>
      )}
    </div>
  );
}

/** Shows the rows that arrived above, while the table must not move. */
function NewRows(props: { newRows?: number; newRowsMax?: number; onClick: () => void }) {
  const { newRows = 0, newRowsMax = Infinity } = props;
  const { t } = useTranslation();
  if (newRows === 0) return null;
  return (
    <button
      type="button"
      className={css.pill}
      data-testid="new-rows"
      title={t('table.newRowsHint')}
      onClick={props.onClick}
    >
      <IconArrowUpBar size={14} aria-hidden />
      {t('table.newRows', { n: newRows >= newRowsMax ? `${newRows}+` : newRows })}
    </button>
  );
}

/** Whether a row was just copied, and a function that copies one. */
function useCopyRow<T extends object>(columns: Column<T>[], jsonOf: (row: T) => object = (row) => row) {
  const [isCopied, copyText] = useCopied();
  const copy = useRef((_: T, __: CopyForm) => {});
  copy.current = (row, form) =>
    copyText(form === 'json' ? JSON.stringify(jsonOf(row), null, 2) : tableText(columns, [row]));
  return [isCopied, useCallback((row: T, form: CopyForm) => copy.current(row, form), [])] as const;
}
