import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { get } from '../../api/client';
import { refreshEnded, refreshLive } from '../../api/connection';
import { isOfDriver } from '../../api/jobs';
import { answerTo } from '../../api/queries';
import { type AlertsTopic, useTopic } from '../../api/realtime';
import type { AlertInfo, CrashesAnswer, Progress } from '../../api/schema';
import { nanos, stepOf } from '../../ui/charts/timeRange';

const every = (live: boolean) => (live ? refreshLive : refreshEnded);

/** The running and pending jobs, newest first; for an ended session, all jobs. */
export function useJobs(session: string, live: boolean) {
  const state = live ? 'RUNNING,PENDING' : undefined;
  return useQuery({
    ...answerTo('/jobs', { session, state, sort: '-start_ns', limit: 8 }),
    placeholderData: keepPreviousData,
    refetchInterval: every(live),
  });
}

/** The running job that began first. */
export function useRunningJob(session: string, live: boolean) {
  return useQuery({
    ...answerTo('/jobs', { session, state: 'RUNNING', sort: 'start_ns', limit: 8 }),
    enabled: live,
    refetchInterval: every(live),
    select: ({ items }) => items.find(({ job_id }) => isOfDriver(job_id))?.job_id,
  });
}

export function useFailedJobs(session: string, live: boolean) {
  return useQuery({
    ...answerTo('/jobs', { session, state: 'FAILED', limit: 1 }),
    enabled: !live,
    refetchInterval: every(live),
  });
}

export function useProgress(session: string, jobId: string): Omit<Progress, 'id'> | undefined {
  return useTopic<Omit<Progress, 'id'>>('job', { session, job_id: jobId });
}

export function useDeadNodes(session: string, dead: number) {
  return useQuery({
    ...answerTo('/nodes', { session, state: 'DEAD', limit: 200 }),
    enabled: dead > 0,
    refetchInterval: false,
  });
}

/** Crashed workers. */
export function useCrashes(session: string, live: boolean): CrashesAnswer | undefined {
  return useQuery({
    ...answerTo('/crashes', { session, limit: 8 }),
    placeholderData: keepPreviousData,
    refetchInterval: every(live),
  }).data;
}

export function useEvents(session: string, live: boolean) {
  return useQuery({ ...answerTo('/events', { session, limit: 8 }), refetchInterval: every(live) });
}

/** Firing and pending alerts, or those that fired until the session ended. */
export function useAlerts(session: string): AlertInfo[] | undefined {
  return useTopic<AlertsTopic>('alerts', { session })?.items;
}

/** The maxima of three metrics between two times (ms); null where nothing was measured. */
export function usePeaks(session: string, from: number | null, to: number | null) {
  return useQuery({
    queryKey: ['overview-peaks', session, from, to],
    queryFn: async ({ signal }) => {
      const range = { from: from ?? 0, to: to ?? 0 };
      const step = stepOf(range);
      // Each point is the maximum since the previous one, so that no peak between two points is missed.
      const window = `[${Math.max(step, 15)}s]`;
      const most = async (expr: string) => {
        const answer = await get(
          '/metrics/query',
          {
            session,
            expr,
            since_ns: nanos(range.from),
            until_ns: nanos(range.to),
            step_ns: nanos(step * 1e3),
            limit: 1,
          },
          signal,
        );
        const known = (answer.series[0]?.values ?? []).filter((value): value is number => value !== null);
        return known.length === 0 ? null : Math.max(...known);
      };
      const [cpu, memory, store] = await Promise.all([
        most(`max(max_over_time(ray_node_cpu_utilization${window}))`),
        most(`max(max_over_time(ray_node_mem_used${window}))`),
        most(`sum(max_over_time(ray_object_store_memory${window}))`),
      ]);
      // Ray's first reading of a node's CPU is always 0.
      return { cpu: cpu || null, memory, store };
    },
    enabled: from !== null && to !== null,
    refetchInterval: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
}
