import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { get } from './client';
import { useAdaptiveRefetch } from './useAdaptiveRefetch';

export interface PathLink {
  task_id: string;
  attempt: number;
  name: string;
  phase: string;
  begin_ns: number;
  end_ns: number;
  share: number;
}

export interface CriticalPath {
  job_id: string | null;
  begin_ns: number;
  end_ns: number;
  duration_ns: number;
  links: PathLink[];
  links_total: number;
  left_out_ns: number;
  functions: {
    name: string;
    is_driver: boolean;
    links: number;
    total_ns: number;
    share: number;
    by_phase: Record<string, number>;
    without_ns: number;
  }[];
  /** For so long the next one on the path was ready, and waited for a worker or actor that was busy. */
  held_ns: number;
  so_far: boolean;
  driver_traced: boolean;
  truncated: boolean;
}

export function useCriticalPath(session: string, job: string | undefined, enabled: boolean) {
  const calm = useAdaptiveRefetch(session);
  return useQuery({
    queryKey: ['critical-path', session, job],
    queryFn: ({ signal }) =>
      calm.timed(() => get<CriticalPath>('/flow/critical_path', { session, job_id: job }, signal)),
    enabled,
    placeholderData: keepPreviousData,
    refetchInterval: calm.interval,
  });
}
