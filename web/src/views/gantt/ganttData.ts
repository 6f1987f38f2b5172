import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { get } from '../../api/client';
import type { HiddenLibrary } from '../../api/schema';
import { useAdaptiveRefetch } from '../../api/useAdaptiveRefetch';
import type { Filters } from '../../base/url';
import { absolute, type Span } from '../shared/span';
import type { Bars } from './gantt';

export const KINDS = ['worker', 'node', 'actor', 'function', 'path'] as const;
export type Kind = (typeof KINDS)[number];

export interface GanttLane {
  id: string;
  kind: Kind | 'not_placed';
  label: string | null;
  /** Depth of a call path below the driver. */
  depth: number | null;
  node_id: string | null;
  node_ip: string | null;
  pid: number | null;
  actor_id: string | null;
  class_name: string | null;
  actor_name: string | null;
  /** The first functions that a worker ran, and the number of all of them. */
  functions: string[];
  functions_total: number;
  attempts: number;
  /** Attempts that wait for a worker, or for the lane's actor. */
  waiting: number;
  busy_ns: number;
  rows: number;
  folded: number;
}

type Offset = number | null;

/**
 * `/api/flow/gantt`: times of bars are relative to `origin_ns`, those of `details` to the begin of the bar.
 */
export interface Gantt {
  by: Kind;
  origin_ns: number;
  begin_ns: number;
  end_ns: number;
  attempts: number;
  resolution_ns: number;
  /**
   * For a long record that grows: the time up to which lanes and utilisation are computed. Bars are current.
   */
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
  blocked: { bar: number[]; begin: number[]; end: number[]; is_awaiting: boolean[] };
  in_window: number;
  merged: number;
  left_out: number;
  /** Library code that is left out. */
  hidden: HiddenLibrary[];
  utilisation: { bucket_ns: number; running: number[] } | null;
}

/**
 * Number of lanes per request, starting at a multiple of `LANE_STEP`. It is higher if folded lanes are in
 * between.
 */
export const LANES = 64;
export const MAX_LANES = 500;
export const LANE_STEP = 16;

export function useGantt(
  session: string,
  filters: Filters,
  only: 'mine' | undefined,
  by: Kind,
  lanesFrom: number,
  lanes: number,
  tile: (Span & { width: number; base: number }) | null,
  width: number,
  levels: string | undefined,
) {
  const calm = useAdaptiveRefetch(session);
  const { since_ns, until_ns, ...others } = filters;
  const params = {
    session,
    ...others,
    only,
    by,
    levels,
    lanes_from: lanesFrom,
    lanes,
    width: tile?.width ?? width,
    since_ns: tile === null ? since_ns : absolute(tile.base, Math.max(tile.begin, -tile.base)),
    until_ns: tile === null ? until_ns : absolute(tile.base, tile.end),
  };
  return useQuery({
    queryKey: ['gantt', params],
    queryFn: ({ signal }) => calm.timed(() => get<Gantt>('/flow/gantt', params, signal)),
    enabled: width > 0 && lanes > 0,
    placeholderData: keepPreviousData,
    refetchInterval: calm.interval,
  });
}
