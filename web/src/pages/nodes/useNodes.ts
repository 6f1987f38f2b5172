import { useQuery } from '@tanstack/react-query';
import { get, isMissing } from '../../api/client';
import { refreshEnded } from '../../api/connection';
import { useSessionInterval } from '../../api/queries';

/** A node in full. */
export function useNodeDetail(session: string, id: string | undefined) {
  const interval = useSessionInterval(session);
  return useQuery({
    queryKey: ['node-detail', session, id],
    queryFn: ({ signal }) => get('/nodes/{node_id}', { node_id: id, session }, signal),
    enabled: id !== undefined,
    placeholderData: (before) => (before?.node_id === id ? before : undefined),
    refetchInterval: (query) => (isMissing(query.state.error) ? refreshEnded() : interval()),
  });
}

/** All nodes and workers in compact form. */
export function useCells(session: string) {
  const interval = useSessionInterval(session);
  return useQuery({
    queryKey: ['node-cells', session],
    queryFn: ({ signal }) => get('/nodes/cells', { session }, signal),
    placeholderData: (before) => (before?.session === session ? before : undefined),
    refetchInterval: interval,
  });
}
