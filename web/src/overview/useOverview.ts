import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { ApiError, get } from '../api/client';
import { REFRESH, REFRESH_ENDED, refreshInterval } from '../api/connection';
import { useTopic } from '../api/realtime';
import type { Item, Page } from '../api/types';
import type { QueryAnswer } from '../metrics/series';
import { nanos, stepOf } from '../metrics/timeRange';
import type { ClusterStatus } from '../nodes/types';

export interface JobProgress {
  job_id: string;
  attempts: number;
  states: Record<string, number>;
}

export interface SessionEvent {
  time_ns: number;
  severity: string;
  kind: string;
  event: string;
  id: string | null;
  title: string | null;
  message: string | null;
  node_id: string | null;
  job_id: string | null;
  count: number;
}

export interface AlertItem {
  fingerprint: string;
  rule: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  state: 'inactive' | 'pending' | 'firing' | 'resolved';
  value: number;
  active_ns: number;
  /** Ids of the silences that hold for it. */
  silenced_by: string[];
}

/** Whether this server has no such path: an older one, or a part that is switched off. */
export const isMissing = (error: Error | null) => error instanceof ApiError && error.status === 404;

const every = (live: boolean) => () => refreshInterval(live ? REFRESH : REFRESH_ENDED);

export function useStatus(session: string, live: boolean) {
  return useQuery({
    queryKey: ['cluster-status', session],
    queryFn: ({ signal }) => get<ClusterStatus>('/cluster/status', { session }, signal),
    enabled: live,
    refetchInterval: every(live),
  });
}

/** Jobs that run, newest first; of an ended session all of them. */
export function useJobs(session: string, live: boolean) {
  const state = live ? 'RUNNING,PENDING' : undefined;
  return useQuery({
    queryKey: ['overview-jobs', session, state],
    queryFn: ({ signal }) =>
      get<Page<Item>>('/jobs', { session, state, sort: '-start_ns', limit: 8 }, signal),
    placeholderData: keepPreviousData,
    refetchInterval: every(live),
  });
}

export function useFailedJobs(session: string, live: boolean) {
  return useQuery({
    queryKey: ['overview-jobs-failed', session],
    queryFn: ({ signal }) => get<Page<Item>>('/jobs', { session, state: 'FAILED', limit: 1 }, signal),
    enabled: !live,
    refetchInterval: every(live),
  });
}

export function useProgress(session: string, jobId: string): JobProgress | undefined {
  return useTopic<JobProgress>('job', { session, job_id: jobId });
}

export function useDeadNodes(session: string, dead: number) {
  return useQuery({
    queryKey: ['overview-dead', session, dead],
    queryFn: ({ signal }) => get<Page<Item>>('/nodes', { session, state: 'DEAD', limit: 200 }, signal),
    enabled: dead > 0,
    refetchInterval: false,
  });
}

export function useEvents(session: string, live: boolean) {
  return useQuery({
    queryKey: ['overview-events', session],
    queryFn: ({ signal }) =>
      get<{ items: SessionEvent[]; total: number; by_severity: Record<string, number> }>(
        '/events',
        { session, limit: 8 },
        signal,
      ),
    refetchInterval: every(live),
  });
}

/** Alerts that fire or are about to; none of a session that is over. */
export function useAlerts(session: string): AlertItem[] | undefined {
  return useTopic<{ items: AlertItem[] }>('alerts', { session })?.items;
}

/** The greatest of three figures between two times (ms); null where nothing was measured. */
export function usePeaks(session: string, from: number | null, to: number | null) {
  return useQuery({
    queryKey: ['overview-peaks', session, from, to],
    queryFn: async ({ signal }) => {
      const range = { from: from ?? 0, to: to ?? 0 };
      const step = stepOf(range);
      // Nothing lies between two points: each tells the greatest since the one before.
      const window = `[${Math.max(step, 15)}s]`;
      const most = async (expr: string) => {
        const answer = await get<QueryAnswer>(
          '/metrics/query',
          {
            session,
            expr,
            from_ns: nanos(range.from),
            to_ns: nanos(range.to),
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
      return { cpu, memory, store };
    },
    enabled: from !== null && to !== null,
    refetchInterval: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
}
