import { useQuery } from '@tanstack/react-query';
import { refreshEnded } from '../../api/connection';
import { answerTo, useSessionInterval } from '../../api/queries';
import { type Filters, taskFilters } from '../../base/url';

/** The attempts in flight at `at` (ns), or the current ones, which are refreshed. */
export function useStack(session: string, at: string | undefined, filters: Filters, isReady: boolean) {
  const interval = useSessionInterval(session);
  return useQuery({
    ...answerTo('/flow/stack', { session, at_ns: at, ...taskFilters(filters) }),
    enabled: isReady,
    placeholderData: (before) => (before?.session === session ? before : undefined),
    refetchInterval: at === undefined ? interval : refreshEnded,
  });
}
