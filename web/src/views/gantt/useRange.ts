import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { get } from '../../api/client';
import { useAdaptiveRefetch } from '../../api/useAdaptiveRefetch';
import type { SchedulingPhase } from '../../base/scheduling';
import type { Filters } from '../../base/url';
import type { TimeRange } from '../shared/range';
import type { GanttLane, Kind } from './ganttData';

export interface RangeFunction {
  name: string;
  attempts: number;
  failed: number;
  executing_ns: number;
  blocked_ns: number;
  busy_ns: number;
  mean: number;
}

export type RangeLane = Omit<GanttLane, 'rows' | 'folded'> & { rows: number | null; share: number | null };

/** `/api/flow/range`: all times are cut to the range. */
export interface RangeAnswer {
  by: Kind;
  since_ns: number;
  until_ns: number;
  attempts: number;
  states: Record<string, number>;
  phases: Record<SchedulingPhase, number>;
  busy_ns: number;
  running: { mean: number; most: number | null };
  functions: RangeFunction[];
  functions_total: number;
  functions_left_out_ns: number;
  lanes: RangeLane[];
  lanes_total: number;
  lanes_left_out_ns: number;
}

export function useRange(
  session: string,
  filters: Filters,
  only: 'mine' | undefined,
  by: Kind,
  levels: string | undefined,
  range: TimeRange | null,
) {
  const calm = useAdaptiveRefetch(session);
  const params = { session, ...filters, only, by, levels, since_ns: range?.from, until_ns: range?.to };
  return useQuery({
    queryKey: ['range', params],
    queryFn: ({ signal }) => calm.timed(() => get<RangeAnswer>('/flow/range', params, signal)),
    enabled: range !== null,
    placeholderData: keepPreviousData,
    refetchInterval: calm.interval,
  });
}
