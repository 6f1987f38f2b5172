import { useQuery } from '@tanstack/react-query';
import { REPORT } from '../base/report';
import { refreshEnded } from './connection';
import { answerTo } from './queries';
import type { RunItem } from './schema';

const NONE: readonly RunItem[] = [];
/** Maximum number of runs that are asked for. */
const LIMIT = 1000;

/** The newest runs of a session that were slower than usual. */
export function useSlowerRuns(session: string): readonly RunItem[] {
  const params = { verdict: 'slower', in_session: session, limit: LIMIT };
  const isKnown = REPORT === null; // A report is about one session, and has no other runs.
  const query = { ...answerTo('/runs', params), refetchInterval: refreshEnded, enabled: isKnown };
  return useQuery(query).data?.items ?? NONE;
}

/** The summary of a job; undefined until it has ended. */
export function useRun(session: string, job: { job_id: string; end_ns: number | null }): RunItem | undefined {
  const params = { session, job_id: job.job_id };
  const query = answerTo('/runs/{session}/{job_id}', params);
  return useQuery({
    ...query,
    refetchInterval: refreshEnded,
    enabled: REPORT === null && job.end_ns !== null,
  }).data?.run;
}
