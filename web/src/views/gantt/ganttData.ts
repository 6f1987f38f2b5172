import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { get } from '../../api/client';
import { useAdaptiveRefetch } from '../../api/useAdaptiveRefetch';
import { type Filters, taskFilters } from '../../base/url';
import { absolute, type Span } from '../shared/span';

export const KINDS = ['worker', 'node', 'actor', 'function', 'path'] as const;
export type Kind = (typeof KINDS)[number];

/**
 * Minimum number of lanes per request. A request starts at a multiple of `LANE_STEP`, and asks for more lanes
 * if folded ones are among those on screen.
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
  const { since_ns, until_ns, ...others } = taskFilters(filters);
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
    queryFn: ({ signal }) => calm.timed(() => get('/flow/gantt', params, signal)),
    enabled: width > 0 && lanes > 0,
    placeholderData: keepPreviousData,
    refetchInterval: calm.interval,
  });
}
