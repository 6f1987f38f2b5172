import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { get, isBusy, isMissing, post } from './client';
import { refreshInterval } from './connection';
import type { InsightsAnswer, WhatIfAnswer, WhatIfBody } from './schema';
import { useAdaptiveRefetch } from './useAdaptiveRefetch';

export type Change = WhatIfBody['changes'][number];

/** Minimum interval between requests for findings shown next to other content, ms. */
const ASIDE_INTERVAL = 30_000;
/**
 * The server replays at most two jobs at a time and rejects further requests as busy. These are retried until
 * they succeed or are cancelled.
 */
export const RETRY_WHILE_BUSY = { retry: (_: number, error: Error) => isBusy(error), retryDelay: 2_000 };
/** Interval between requests for the progress of a long replay, ms. */
const PROGRESS_INTERVAL = 1_000;

/**
 * Insights of a job, or of the longest one if `job` is undefined. `isAside` is set if they are shown next to
 * other content: the page then refreshes them less often and does not report that it is waiting for them.
 */
export function useInsights(
  session: string,
  job: string | undefined,
  { isAside, enabled }: { isAside: boolean; enabled: boolean } = { isAside: false, enabled: true },
) {
  const calm = useAdaptiveRefetch(session);
  return useQuery({
    queryKey: ['insights', session, job],
    queryFn: ({ signal }) => calm.timed(() => get('/insights', { session, job_id: job }, signal)),
    enabled,
    ...RETRY_WHILE_BUSY,
    // Insights of another session are not a useful placeholder.
    placeholderData: (before, query) =>
      query?.queryKey[1] === session ? keepPreviousData(before) : undefined,
    refetchInterval: ({ state }) =>
      isAside && !isMissing(state.error) ? Math.max(ASIDE_INTERVAL, calm.interval()) : calm.interval(),
    ...(isAside && { staleTime: ASIDE_INTERVAL, meta: { isAside } }),
  });
}

/** Insights that include replays of a minute or more; undefined until they are available. */
export function useLongInsights(session: string, job: string, enabled: boolean): InsightsAnswer | undefined {
  return useQuery({
    queryKey: ['insights', session, job, 'long'],
    queryFn: ({ signal }) => get('/insights', { session, job_id: job, long: 'true' }, signal),
    enabled,
    ...RETRY_WHILE_BUSY,
    refetchInterval: false,
    staleTime: Number.POSITIVE_INFINITY,
    // The page itself shows the progress.
    meta: { isAside: true },
  }).data;
}

/** Progress of the long replays for a job's insights, 0 to 1. */
export function useLongProgress(session: string, job: string): number {
  const { data } = useQuery({
    queryKey: ['insights', session, job, 'progress'],
    queryFn: ({ signal }) => get('/insights/progress', { session, job_id: job }, signal),
    refetchInterval: () => refreshInterval(PROGRESS_INTERVAL),
  });
  return data?.share ?? 0;
}

/** The predicted duration of a job with these changes. No request is sent if there are no changes. */
export function useWhatIf(session: string, job: string, changes: Change[]) {
  return useQuery({
    queryKey: ['whatif', session, job, changes],
    queryFn: ({ signal }) =>
      post<WhatIfAnswer>('/what-if', { session, job_id: job, changes }, undefined, { signal }),
    enabled: changes.length > 0,
    ...RETRY_WHILE_BUSY,
    placeholderData: keepPreviousData,
    refetchInterval: false,
    staleTime: 30_000,
  });
}
