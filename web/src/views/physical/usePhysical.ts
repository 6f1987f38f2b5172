import { useQuery } from '@tanstack/react-query';
import { get } from '../../api/client';
import { REFRESH_ENDED, refreshInterval } from '../../api/connection';
import { useSessionInterval } from '../../api/queries';
import type { Filters } from '../../base/url';
import { type NodeAnswer, type Physical, type PhysicalAnswer, type Transfers, unpack } from './physical';

/** The state of the cluster at `at` (ns), or the current one, which is refreshed. */
export function usePhysical(
  session: string,
  at: string | undefined,
  filters: Filters,
  { isReady, ...more }: { annotation: string | undefined; bytes: boolean; isReady: boolean },
) {
  const interval = useSessionInterval(session);
  return useQuery<Physical>({
    queryKey: ['physical', session, at ?? 'now', filters, more],
    queryFn: async ({ signal }) =>
      unpack(
        await get<PhysicalAnswer>(
          '/flow/physical',
          {
            session,
            at_ns: at,
            annotation_name: more.annotation,
            with_bytes: more.bytes ? 'true' : undefined,
            ...filters,
          },
          signal,
        ),
      ),
    enabled: isReady,
    placeholderData: (before) => (before?.session === session ? before : undefined),
    refetchInterval: () => refreshInterval(at === undefined ? interval : REFRESH_ENDED),
  });
}

/** A node in full at a time. */
export function useNode(session: string, at: string | undefined, id: string | undefined, filters: Filters) {
  const interval = useSessionInterval(session);
  return useQuery<NodeAnswer>({
    queryKey: ['physical-node', session, at ?? 'now', id, filters],
    queryFn: ({ signal }) =>
      get<NodeAnswer>('/flow/physical/node', { session, at_ns: at, on_node: id, ...filters }, signal),
    enabled: id !== undefined,
    retry: false,
    placeholderData: (before) => (before?.node.id === id ? before : undefined),
    refetchInterval: () => refreshInterval(at === undefined ? interval : REFRESH_ENDED),
  });
}

/** The transfers between nodes until `at` (ns) or now: in the last `span` (ns), or since the beginning. */
export function useTransfers(session: string, at: string | undefined, span: number | undefined) {
  return useQuery<Transfers>({
    queryKey: ['transfers', session, at ?? 'now', span],
    queryFn: ({ signal }) =>
      get<Transfers>(
        '/flow/transfers',
        { session, until_ns: at, span_ns: span === undefined ? undefined : String(span) },
        signal,
      ),
    placeholderData: (before) => (before?.session === session ? before : undefined),
    refetchInterval: () => refreshInterval(REFRESH_ENDED),
  });
}
