import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { get } from '../../api/client';
import { refreshInterval } from '../../api/connection';
import { useNodeNames } from '../../api/queries';
import { drawn, type Query } from './series';
import { aligned, moves, nanos, rangeOf, stepOf } from './timeRange';
import { useTimeRange } from './useTimeRange';

/** Refresh interval of charts, the same as the collectors' interval, ms. */
export const CHART_REFRESH = 5_000;
/**
 * Maximum number of lines in a chart, since more cannot be told apart. The server keeps those with the
 * greatest mean.
 */
const MAX_CHART_LINES = 20;

/** The lines of a chart in the page's range of time. All queries request the same points. */
export function useChart(session: string, queries: readonly Query[], enabled: boolean) {
  const { choice, bounds, ready } = useTimeRange(session);
  const exprs = queries.map(({ expr }) => expr);
  const query = useQuery({
    queryKey: ['chart', session, exprs, choice, bounds.live ? null : [bounds.first, bounds.last]],
    queryFn: ({ signal }) => {
      const range = rangeOf(choice, bounds, Date.now());
      const step = stepOf(range);
      const { from, to } = aligned(range, step);
      const params = { session, since_ns: nanos(from), until_ns: nanos(to), step_ns: nanos(step * 1e3) };
      return Promise.all(
        exprs.map((expr) => get('/metrics/query', { ...params, expr, limit: MAX_CHART_LINES }, signal)),
      );
    },
    enabled: enabled && ready && exprs.length > 0,
    placeholderData: keepPreviousData,
    refetchInterval: () => (moves(choice, bounds, Date.now()) ? refreshInterval(CHART_REFRESH) : false),
    staleTime: CHART_REFRESH / 2,
  });
  // Callers create new query objects on each render, so compare their content.
  const queriesKey = JSON.stringify(queries);
  const nodeNames = useNodeNames(session).data;
  const { data: answers, error, isPlaceholderData, refetch } = query;
  const data = useMemo(
    () => (answers === undefined ? undefined : drawn(JSON.parse(queriesKey) as Query[], answers, nodeNames)),
    [answers, queriesKey, nodeNames],
  );
  return { data, error, isPlaceholderData, refetch };
}
