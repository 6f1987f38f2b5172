import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { get } from '../../api/client';
import type { RangeAnswer as Answer } from '../../api/schema';
import { useAdaptiveRefetch } from '../../api/useAdaptiveRefetch';
import type { SchedulingPhase } from '../../base/scheduling';
import { type Filters, taskFilters } from '../../base/url';
import type { TimeRange } from '../shared/range';
import type { Kind } from './ganttData';

// In the schema, the kind of the lanes and the phases are any string.
export type RangeAnswer = Answer & { by: Kind; phases: Record<SchedulingPhase, number> };

export function useRange(
  session: string,
  filters: Filters,
  only: 'mine' | undefined,
  by: Kind,
  levels: string | undefined,
  range: TimeRange | null,
) {
  const calm = useAdaptiveRefetch(session);
  const params = {
    session,
    ...taskFilters(filters),
    only,
    by,
    levels,
    since_ns: range?.from,
    until_ns: range?.to,
  };
  return useQuery({
    queryKey: ['range', params],
    queryFn: ({ signal }) => calm.timed(() => get('/flow/range', params, signal) as Promise<RangeAnswer>),
    enabled: range !== null,
    placeholderData: keepPreviousData,
    refetchInterval: calm.interval,
  });
}
