import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { get } from './client';
import { useAdaptiveRefetch } from './useAdaptiveRefetch';

/** The chain of work and waits that determined how long a job took. */
export function useCriticalPath(session: string, job: string | undefined, enabled: boolean) {
  const calm = useAdaptiveRefetch(session);
  return useQuery({
    queryKey: ['critical-path', session, job],
    queryFn: ({ signal }) => calm.timed(() => get('/flow/critical-path', { session, job_id: job }, signal)),
    enabled,
    placeholderData: keepPreviousData,
    refetchInterval: calm.interval,
  });
}
