import { useQuery } from '@tanstack/react-query';
import { get } from '../../api/client';
import { refreshEnded } from '../../api/connection';
import { useSessionInterval } from '../../api/queries';
import { type Filters, taskFilters } from '../../base/url';

/** The attempts in flight at `at` (ns) or now, in which case it is refreshed. */
export function useStack(session: string, at: string | undefined, filters: Filters, isReady: boolean) {
  const interval = useSessionInterval(session);
  return useQuery({
    queryKey: ['stack', session, at ?? 'now', filters],
    queryFn: ({ signal }) => get('/flow/stack', { session, at_ns: at, ...taskFilters(filters) }, signal),
    enabled: isReady,
    placeholderData: (before) => (before?.session === session ? before : undefined),
    refetchInterval: at === undefined ? interval : refreshEnded,
  });
}
