import { useQuery } from '@tanstack/react-query';
import { get } from './client';
import { useSessionInterval } from './queries';

/** Resources of the cluster, their holders, and pending demand. */
export function useClusterStatus(session: string, enabled = true) {
  const interval = useSessionInterval(session);
  return useQuery({
    queryKey: ['cluster-status', session],
    queryFn: ({ signal }) => get('/cluster/status', { session }, signal),
    enabled,
    placeholderData: (before) => (before?.session === session ? before : undefined),
    refetchInterval: interval,
  });
}
