import { type InfiniteData, keepPreviousData, useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { REPORT } from '../base/report';
import { get, type ParamsOf } from './client';
import { refreshLive } from './connection';
import { countNew, reuseRows, updateInPlace } from './merge';
import type { Paths } from './schema';
import type { Page } from './types';

export const PAGE_SIZE = 200;
/** The server's limit. */
const MAX_PAGE = 1_000;
/** Number of loaded rows, from the top, that are compared with the latest first page to count new rows. */
const LOOK_BACK = 1_000;

export interface LiveList<T, P = Page<T>> {
  rows: T[];
  total: number | null;
  /** The first page: totals of the whole list from the latest answer, and the rows as they are on screen. */
  first: P | null;
  loading: boolean;
  /** The rows still belong to the previous filters. */
  outdated: boolean;
  error: Error | null;
  hasMore: boolean;
  loadingMore: boolean;
  loadMore: () => void;
  /** Loads the first rows that match, at most this many. Absent in a report, which has one page. */
  load?: (most: number) => Promise<T[]>;
  /** New rows above the visible ones, counted while rows must not move; PAGE_SIZE means that many or more. */
  newRows: number;
  /** Scrolls to the latest first page. */
  showNew: () => void;
  /** Reports which rows are on screen and whether they must keep their places. */
  watch: (view: { firstRow: number; lastRow: number; frozen: boolean }) => void;
}

/** The paths of lists that are paged by a cursor. */
type ListPath = {
  [P in keyof Paths]: 'cursor' extends Paths[P]['params']
    ? Paths[P]['answer'] extends { items: unknown }
      ? P
      : never
    : never;
}[keyof Paths];

type Row<L extends ListPath> = Paths[L]['answer']['items'][number];

type Data<P> = InfiniteData<P, string | null>;

/**
 * A list that is loaded page by page and stays live. At the top, each refresh replaces the first page. Once
 * the user scrolls down or opens a drawer, the pages on screen are refreshed in place and new rows are only
 * counted.
 */
export function useLiveList<L extends ListPath>(
  path: L,
  params: ParamsOf<L>,
  keyOf: (row: Row<L>) => string,
  interval: () => number,
): LiveList<Row<L>, Paths[L]['answer']>;
// The implementation has its own type parameters for rows and pages, because it cannot derive them from
// `Paths[L]`.
export function useLiveList<T extends object, P extends Page<T>>(
  path: ListPath,
  params: ParamsOf<ListPath>,
  keyOf: (row: T) => string,
  interval: () => number,
): LiveList<T, P> {
  const client = useQueryClient();
  const paramsKey = JSON.stringify(params);
  // biome-ignore lint/correctness/useExhaustiveDependencies: equal params must produce the same key.
  const queryKey = useMemo(() => ['list', path, params], [path, paramsKey]);
  const fetchPage = useCallback(
    (cursor: string | null, signal: AbortSignal) =>
      get(path, { ...(queryKey[2] as typeof params), limit: PAGE_SIZE, cursor }, signal) as Promise<P>,
    [path, queryKey],
  );
  const query = useInfiniteQuery<P, Error, Data<P>, typeof queryKey, string | null>({
    queryKey,
    queryFn: ({ pageParam, signal }) => fetchPage(pageParam, signal),
    initialPageParam: null,
    getNextPageParam: (last) => last.next,
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    structuralSharing: false,
    refetchInterval: (state) => (state.state.data === undefined ? refreshLive() : false),
  });

  const view = useRef({ firstRow: 0, lastRow: 0, frozen: false });
  const head = useRef<P | null>(null);
  const [newRows, setNewRows] = useState(0);
  const [pollError, setPollError] = useState<Error | null>(null);

  const takeHead = useCallback(
    (page: P) => {
      client.setQueryData<Data<P>>(queryKey, (data) => {
        const first = data?.pages[0];
        if (data === undefined || first === undefined) return data;
        const items = reuseRows(first.items, page.items, keyOf);
        const unmoved =
          items.length === first.items.length &&
          page.next !== null &&
          items.every((row, at) => keyOf(row) === keyOf(first.items[at] as T));
        if (unmoved && data.pages.length > 1) {
          return { ...data, pages: [{ ...page, items, next: first.next }, ...data.pages.slice(1)] };
        }
        return { pages: [{ ...page, items }], pageParams: [null] };
      });
      setNewRows(0);
    },
    [client, queryKey, keyOf],
  );

  const updatePage = useCallback(
    (at: number, page: P) => {
      client.setQueryData<Data<P>>(queryKey, (data) => {
        const before = data?.pages[at];
        if (data === undefined || before === undefined) return data;
        const items = updateInPlace(before.items, page.items, keyOf) as T[];
        const pages = data.pages.slice();
        pages[at] = { ...before, items };
        // Totals of the whole list are the same on every page, so the first one is used.
        const first = pages[0];
        if (first !== undefined) pages[0] = { ...page, items: first.items, next: first.next };
        return { ...data, pages };
      });
    },
    [client, queryKey, keyOf],
  );

  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout>;
    head.current = null;
    setNewRows(0);
    setPollError(null);

    async function refresh(): Promise<void> {
      const before = client.getQueryData<Data<P>>(queryKey);
      if (before === undefined || document.hidden) return;
      const page = await fetchPage(null, abort.signal);
      if (abort.signal.aborted) return;
      head.current = page;
      if (!view.current.frozen) {
        takeHead(page);
        return;
      }
      const shown: T[] = [];
      for (const loaded of before.pages) {
        shown.push(...loaded.items);
        if (shown.length >= LOOK_BACK) break;
      }
      setNewRows(countNew(shown, page.items, keyOf));
      updatePage(0, page);
      for (const at of pagesOnScreen(before, view.current)) {
        if (at === 0) continue;
        const cursor = before.pageParams[at];
        if (cursor) updatePage(at, await fetchPage(cursor, abort.signal));
        if (abort.signal.aborted) return;
      }
    }

    function schedule(): void {
      timer = setTimeout(() => {
        refresh()
          .then(() => setPollError(null))
          .catch((error: Error) => setPollError(error))
          .finally(() => {
            if (!abort.signal.aborted) schedule();
          });
      }, interval());
    }
    schedule();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [client, queryKey, fetchPage, keyOf, takeHead, updatePage, interval]);

  const pages = query.data?.pages;
  const rows = useMemo(() => unique(pages?.flatMap((page) => page.items) ?? [], keyOf), [pages, keyOf]);
  const { fetchNextPage, hasNextPage, isFetchingNextPage, isPlaceholderData } = query;
  return {
    rows,
    total: pages?.[0]?.total ?? null,
    first: pages?.[0] ?? null,
    loading: query.isPending,
    outdated: isPlaceholderData,
    error: query.error ?? pollError,
    hasMore: hasNextPage,
    loadingMore: isFetchingNextPage,
    loadMore: useCallback(() => {
      if (hasNextPage && !isFetchingNextPage && !isPlaceholderData) void fetchNextPage();
    }, [fetchNextPage, hasNextPage, isFetchingNextPage, isPlaceholderData]),
    load: REPORT === null ? (most) => loadRows(path, params, keyOf, most) : undefined,
    newRows,
    showNew: useCallback(() => {
      if (head.current !== null) takeHead(head.current);
    }, [takeHead]),
    watch: useCallback((next) => {
      view.current = next;
    }, []),
  };
}

/** The first rows of a list, in pages as large as the server allows. */
export async function loadRows<T>(
  path: ListPath,
  params: ParamsOf<ListPath>,
  keyOf: (row: T) => string,
  most: number,
): Promise<T[]> {
  const rows: T[] = [];
  let cursor: string | null = null;
  do {
    const page = (await get(path, { ...params, limit: MAX_PAGE, cursor })) as Page<T>;
    rows.push(...page.items);
    cursor = page.next;
  } while (cursor !== null && rows.length < most);
  return unique(rows, keyOf).slice(0, most);
}

/** Drops duplicates: a row that moved between two pages appears on both. The first one stays. */
function unique<T>(rows: T[], keyOf: (row: T) => string): T[] {
  const seen = new Set<string>();
  return rows.filter((row) => {
    const key = keyOf(row);
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

/**
 * The pages that contain the first and the last row on screen. A screen is shorter than a page, so there are
 * at most two.
 */
function pagesOnScreen<T>(data: Data<Page<T>>, view: { firstRow: number; lastRow: number }): number[] {
  const found = new Set<number>();
  let begin = 0;
  data.pages.forEach((page, at) => {
    const end = begin + page.items.length;
    if (view.firstRow < end && view.lastRow >= begin) found.add(at);
    begin = end;
  });
  return [...found].slice(0, 2);
}
