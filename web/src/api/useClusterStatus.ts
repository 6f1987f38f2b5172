import { useAnswer } from './queries';

/** Resources of the cluster, their holders, and pending demand. */
export function useClusterStatus(session: string, enabled = true) {
  return useAnswer(
    '/cluster/status',
    { session },
    { enabled, placeholderData: (before) => (before?.session === session ? before : undefined) },
  );
}
