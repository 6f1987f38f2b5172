import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useRef } from 'react';
import { get } from '../../api/client';
import { REFRESH_ENDED, refreshInterval } from '../../api/connection';
import { useSessionInterval } from '../../api/queries';
import type { Filters } from '../../base/url';
import { absolute, type Bars, type Span } from './gantt';

export const KINDS = ['worker', 'node', 'actor', 'function', 'path'] as const;
export type Kind = (typeof KINDS)[number];

export interface GanttLane {
  id: string;
  kind: Kind | 'not_placed';
  label: string | null;
  /** Of a call path, how far below the driver it is. */
  depth: number | null;
  node_id: string | null;
  node_ip: string | null;
  pid: number | null;
  actor_id: string | null;
  class_name: string | null;
  actor_name: string | null;
  attempts: number;
  busy_ns: number;
  rows: number;
  folded: number;
}

type Offset = number | null;

/** `/api/flow/gantt`: times of bars count from `origin_ns`, those of `details` from the bar's begin. */
export interface Gantt {
  by: Kind;
  origin_ns: number;
  begin_ns: number;
  end_ns: number;
  attempts: number;
  resolution_ns: number;
  /** Of a long record that grows: until when lanes and utilisation tell; bars are of now. */
  lanes: GanttLane[];
  lanes_from: number;
  lanes_total: number;
  names: string[];
  states: string[];
  bars: Bars & {
    count: number[];
    busy: number[];
    failed: number[];
    name: number[];
    state: number[];
    task_id: string[];
    attempt: number[];
  };
  details: {
    bar: number[];
    created: Offset[];
    waiting_node: Offset[];
    queued: Offset[];
    executing: Offset[];
    storing: Offset[];
  };
  blocked: { bar: number[]; begin: number[]; end: number[] };
  in_window: number;
  merged: number;
  left_out: number;
  utilisation: { bucket_ns: number; running: number[] } | null;
}

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

/** Lanes are fetched so many at a time, from a multiple of `LANE_STEP`: a screen and one step. */
export const LANES = 64;
export const LANE_STEP = 16;

/** What was asked for longest ago is asked again only when that costs the server little. */
export function useCalmly(session: string): {
  timed: <T>(question: () => Promise<T>) => Promise<T>;
  interval: () => number;
} {
  const took = useRef(0);
  const base = useSessionInterval(session);
  return {
    timed: async (question) => {
      const began = performance.now();
      const answer = await question();
      took.current = performance.now() - began;
      return answer;
    },
    interval: () => refreshInterval(Math.max(base === REFRESH_ENDED ? 30_000 : base, took.current * 5)),
  };
}

export function useGantt(
  session: string,
  filters: Filters,
  by: Kind,
  lanesFrom: number,
  tile: (Span & { width: number; base: number }) | null,
  width: number,
  levels: string | undefined,
) {
  const calm = useCalmly(session);
  const { since_ns, until_ns, ...others } = filters;
  const params = {
    session,
    ...others,
    by,
    levels,
    lanes_from: lanesFrom,
    lanes: LANES,
    width: tile?.width ?? width,
    since_ns: tile === null ? since_ns : absolute(tile.base, Math.max(tile.begin, -tile.base)),
    until_ns: tile === null ? until_ns : absolute(tile.base, tile.end),
  };
  return useQuery({
    queryKey: ['gantt', params],
    queryFn: ({ signal }) => calm.timed(() => get<Gantt>('/flow/gantt', params, signal)),
    enabled: width > 0,
    placeholderData: keepPreviousData,
    refetchInterval: calm.interval,
  });
}

export function useCriticalPath(session: string, job: string | undefined, enabled: boolean) {
  const calm = useCalmly(session);
  return useQuery({
    queryKey: ['critical-path', session, job],
    queryFn: ({ signal }) =>
      calm.timed(() => get<CriticalPath>('/flow/critical_path', { session, job_id: job }, signal)),
    enabled,
    placeholderData: keepPreviousData,
    refetchInterval: calm.interval,
  });
}
