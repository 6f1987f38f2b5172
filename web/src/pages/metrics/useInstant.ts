import { keepPreviousData, type UseQueryResult, useQueries } from '@tanstack/react-query';
import { get } from '../../api/client';
import { refreshInterval } from '../../api/connection';
import type { QueryAnswer } from '../../api/schema';
import { moves, nanos, rangeOf } from '../../ui/charts/timeRange';
import { CHART_REFRESH } from '../../ui/charts/useChart';
import { useTimeRange } from '../../ui/charts/useTimeRange';

/**
 * PromQL's lookback, ms. Queries cover this period before the end of the range, since series that have ended
 * before it have no value there.
 */
const LOOKBACK_MS = 300_000;
const STEP = 5_000;
const MAX_SERIES = 500;

/** The values of each query shortly before the end of the page's range, or the query's error. */
export function useInstant(session: string, exprs: readonly string[]): UseQueryResult<QueryAnswer>[] {
  const { choice, bounds, ready } = useTimeRange(session);
  return useQueries({
    queries: exprs.map((expr) => ({
      queryKey: ['instant', session, expr, choice, bounds.live ? null : bounds.last],
      queryFn: ({ signal }: { signal: AbortSignal }) => {
        const { to } = rangeOf(choice, bounds, Date.now());
        const times = { since_ns: nanos(to - LOOKBACK_MS), until_ns: nanos(to), step_ns: nanos(STEP) };
        return get('/metrics/query', { session, expr, ...times, limit: MAX_SERIES }, signal);
      },
      enabled: ready,
      placeholderData: keepPreviousData,
      refetchInterval: () => (moves(choice, bounds, Date.now()) ? refreshInterval(CHART_REFRESH) : false),
      staleTime: CHART_REFRESH / 2,
    })),
  });
}

interface Moment {
  /** ms since the epoch. */
  time: number;
  rows: { labels: Record<string, string>; value: number }[];
}

/** The latest moment at which any series has a value; null if there is none. */
export function newestMoment({ times_ms, series }: Pick<QueryAnswer, 'times_ms' | 'series'>): Moment | null {
  for (let at = times_ms.length - 1; at >= 0; at -= 1) {
    const rows = series.flatMap(({ labels, values }) => {
      const value = values[at];
      return value == null ? [] : [{ labels, value }];
    });
    if (rows.length > 0) return { time: times_ms[at] ?? 0, rows };
  }
  return null;
}
