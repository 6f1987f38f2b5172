import { useQuery } from '@tanstack/react-query';
import { refreshEnded } from './connection';
import { answerTo } from './queries';
import type { RunItem } from './schema';

const NONE: readonly RunItem[] = [];
/** Maximum number of runs that are marked. */
const LIMIT = 200;

/** The newest runs that were slower than usual, of one session or of all. */
export function useSlowerRuns(session?: string): readonly RunItem[] {
  const params = { verdict: 'slower', in_session: session, limit: LIMIT };
  return useQuery({ ...answerTo('/runs', params), refetchInterval: refreshEnded }).data?.items ?? NONE;
}
