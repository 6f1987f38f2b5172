import { useQuery } from '@tanstack/react-query';
import { isMissing } from '../../api/client';
import { refreshEnded } from '../../api/connection';
import { answerTo, useAnswer, useSessionInterval } from '../../api/queries';

/** A node in full. */
export function useNodeDetail(session: string, id: string | undefined) {
  const interval = useSessionInterval(session);
  return useQuery({
    ...answerTo('/nodes/{node_id}', { node_id: id, session }),
    enabled: id !== undefined,
    placeholderData: (before) => (before?.node_id === id ? before : undefined),
    refetchInterval: (query) => (isMissing(query.state.error) ? refreshEnded() : interval()),
  });
}

/** All nodes and workers in compact form. */
export function useCells(session: string) {
  return useAnswer(
    '/nodes/cells',
    { session },
    { placeholderData: (before) => (before?.session === session ? before : undefined) },
  );
}
