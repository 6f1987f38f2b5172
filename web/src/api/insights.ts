import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { get } from './client';
import type { FindingItem, InsightsAnswer, PathCause } from './schema';
import { useAdaptiveRefetch } from './useAdaptiveRefetch';

/** What slowed a job down. */
export type Insights = InsightsAnswer;
export type Finding = FindingItem;
export type Cause = PathCause;

/** Of one job, or (undefined) of the longest one. */
export function useInsights(session: string, job: string | undefined) {
  const calm = useAdaptiveRefetch(session);
  return useQuery({
    queryKey: ['insights', session, job],
    queryFn: ({ signal }) => calm.timed(() => get<Insights>('/insights', { session, job }, signal)),
    placeholderData: keepPreviousData,
    refetchInterval: calm.interval,
  });
}
