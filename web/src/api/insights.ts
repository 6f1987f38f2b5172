import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { get, isBusy, post } from './client';
import type {
  ExplainedCause,
  FindingItem,
  InsightsAnswer,
  ProgressAnswer,
  WhatIfAnswer,
  WhatIfBody,
} from './schema';
import { useAdaptiveRefetch } from './useAdaptiveRefetch';

/** What slowed a job down. */
export type Insights = InsightsAnswer;
export type Finding = FindingItem;
export type Cause = ExplainedCause;
/** What a job would take with changes. */
export type WhatIf = WhatIfAnswer;
export type Change = WhatIfBody['changes'][number];

/** What stands beside other things is asked for so often at most. ms. */
const ASIDE = 30_000;
/** The server replays two jobs at a time. Requests beyond that are sent again, until they are cancelled. */
const WHILE_BUSY = { retry: (_: number, error: Error) => isBusy(error), retryDelay: 2_000 };
/** How far an answer is that takes long is asked so often. ms. */
const PROGRESS = 1_000;

/** Of one job, or (undefined) of the longest one; nobody waits for what is an aside. */
export function useInsights(
  session: string,
  job: string | undefined,
  { isAside, enabled }: { isAside: boolean; enabled: boolean } = { isAside: false, enabled: true },
) {
  const calm = useAdaptiveRefetch(session);
  return useQuery({
    queryKey: ['insights', session, job],
    queryFn: ({ signal }) => calm.timed(() => get<Insights>('/insights', { session, job_id: job }, signal)),
    enabled,
    ...WHILE_BUSY,
    // Those of another session say nothing.
    placeholderData: (before, query) =>
      query?.queryKey[1] === session ? keepPreviousData(before) : undefined,
    refetchInterval: () => (isAside ? Math.max(ASIDE, calm.interval()) : calm.interval()),
    ...(isAside && { staleTime: ASIDE, meta: { isAside } }),
  });
}

/** The same with the replays that take a minute or more, or undefined as long as there is no such answer. */
export function useLongInsights(session: string, job: string, enabled: boolean): Insights | undefined {
  return useQuery({
    queryKey: ['insights', session, job, 'long'],
    queryFn: ({ signal }) => get<Insights>('/insights', { session, job_id: job, long: 'true' }, signal),
    enabled,
    ...WHILE_BUSY,
    refetchInterval: false,
    staleTime: Number.POSITIVE_INFINITY,
    // The page says how far it is.
    meta: { isAside: true },
  }).data;
}

/** How much of such an answer is done, 0 to 1. */
export function useLongProgress(session: string, job: string): number {
  const { data } = useQuery({
    queryKey: ['insights', session, job, 'progress'],
    queryFn: ({ signal }) => get<ProgressAnswer>('/insights/progress', { session, job_id: job }, signal),
    refetchInterval: PROGRESS,
  });
  return data?.share ?? 0;
}

/** How long a job would have taken with these changes; nothing is asked for none. */
export function useWhatIf(session: string, job: string, changes: Change[]) {
  return useQuery({
    queryKey: ['whatif', session, job, changes],
    queryFn: ({ signal }) =>
      post<WhatIf>('/whatif', { session, job_id: job, changes }, undefined, { signal }),
    enabled: changes.length > 0,
    ...WHILE_BUSY,
    placeholderData: keepPreviousData,
    refetchInterval: false,
    staleTime: 30_000,
  });
}
