import { useQuery } from '@tanstack/react-query';
import { get } from '../../api/client';
import { refreshEnded } from '../../api/connection';
import { answerTo, useSessionInterval } from '../../api/queries';
import { type Filters, taskFilters } from '../../base/url';
import { unpack } from './physical';

/** The state of the cluster at `at` (ns), or the current state, which is refreshed. */
export function usePhysical(
  session: string,
  at: string | undefined,
  filters: Filters,
  { isReady, ...more }: { annotation: string | undefined; bytes: boolean; isReady: boolean },
) {
  const interval = useSessionInterval(session);
  return useQuery({
    queryKey: ['physical', session, at ?? 'now', filters, more],
    queryFn: async ({ signal }) =>
      unpack(
        await get(
          '/flow/physical',
          {
            session,
            at_ns: at,
            annotation_name: more.annotation,
            with_bytes: more.bytes ? 'true' : undefined,
            ...taskFilters(filters),
          },
          signal,
        ),
      ),
    enabled: isReady,
    placeholderData: (before) => (before?.session === session ? before : undefined),
    refetchInterval: at === undefined ? interval : refreshEnded,
  });
}

/** A node in full, at one moment. */
export function useNode(session: string, at: string | undefined, id: string | undefined, filters: Filters) {
  const interval = useSessionInterval(session);
  return useQuery({
    ...answerTo('/flow/physical/node', { session, at_ns: at, on_node: id, ...taskFilters(filters) }),
    enabled: id !== undefined,
    retry: false,
    placeholderData: (before) => (before?.node.node_id === id ? before : undefined),
    refetchInterval: at === undefined ? interval : refreshEnded,
  });
}

/**
 * The transfers between nodes until `at` (ns) or until now, limited to the last `span` (ns) if it is given.
 */
export function useTransfers(session: string, at: string | undefined, span: number | undefined) {
  return useQuery({
    ...answerTo('/flow/transfers', { session, until_ns: at, span_ns: span }),
    placeholderData: (before) => (before?.session === session ? before : undefined),
    refetchInterval: refreshEnded,
  });
}
