import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { get, post } from './client';
import type { FindingItem, InsightsAnswer, PathCause, WhatIfAnswer, WhatIfBody } from './schema';
import { useAdaptiveRefetch } from './useAdaptiveRefetch';

/** What slowed a job down. */
export type Insights = InsightsAnswer;
export type Finding = FindingItem;
export type Cause = PathCause;
/** What a job would take with changes. */
export type WhatIf = WhatIfAnswer;
export type Change = WhatIfBody['changes'][number];

/** What stands beside other things is asked for so often at most. ms. */
const ASIDE = 30_000;

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
    // Those of another session say nothing.
    placeholderData: (before, query) =>
      query?.queryKey[1] === session ? keepPreviousData(before) : undefined,
    refetchInterval: () => (isAside ? Math.max(ASIDE, calm.interval()) : calm.interval()),
    ...(isAside && { staleTime: ASIDE, meta: { isAside } }),
  });
}

/** How long a job would have taken with these changes; nothing is asked for none. */
export function useWhatIf(session: string, job: string, changes: Change[]) {
  return useQuery({
    queryKey: ['whatif', session, job, changes],
    queryFn: ({ signal }) =>
      post<WhatIf>('/whatif', { session, job_id: job, changes }, undefined, { signal }),
    enabled: changes.length > 0,
    placeholderData: keepPreviousData,
    refetchInterval: false,
    staleTime: 30_000,
  });
}
