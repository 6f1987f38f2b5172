import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useRef } from 'react';
import { get, type ParamsOf } from '../../api/client';
import { refreshEnded } from '../../api/connection';
import type { FlameAnswer, SandwichAnswer } from '../../api/schema';
import type { Weight } from './flame';

export type FlameParams = ParamsOf<'/flow/flame'>;

/** The pause between fetches is this many times their duration, since merging a long record takes seconds. */
const PAUSE_FACTOR = 8;

/** A query whose refetch interval depends on how long its fetches take. */
function usePaced<T extends FlameAnswer | SandwichAnswer>(): {
  fetch: (params: FlameParams, signal: AbortSignal) => Promise<T>;
  interval: () => number;
} {
  const took = useRef(0);
  return {
    fetch: async (params, signal) => {
      const began = performance.now();
      // `params.of` decides which of the two answers it is.
      const answer = (await get('/flow/flame', params, signal)) as T;
      took.current = performance.now() - began;
      return answer;
    },
    interval: () => Math.max(refreshEnded(), PAUSE_FACTOR * took.current),
  };
}

/**
 * The flame graph. If the server has folded frames, `part` requests one frame and everything below it
 * separately.
 */
export function useFlame(params: FlameParams, part: string | undefined, enabled = true) {
  const paced = usePaced<FlameAnswer>();
  const whole = useQuery({
    queryKey: ['flame', params],
    queryFn: ({ signal }) => paced.fetch(params, signal),
    enabled,
    placeholderData: keepPreviousData,
    refetchInterval: paced.interval,
  });
  const wanted = enabled && part !== undefined && (whole.data?.folded ?? 0) > 0;
  const inside = useQuery({
    queryKey: ['flame', params, part],
    queryFn: ({ signal }) => paced.fetch({ ...params, focus: part }, signal),
    enabled: wanted,
    refetchInterval: paced.interval,
  });
  return {
    error: whole.error,
    isPending: whole.isPending,
    refetch: whole.refetch,
    data: wanted && inside.data !== undefined ? inside.data : whole.data,
    /** A request is running, and `data` is the answer to a similar earlier one. */
    outdated: whole.isPlaceholderData || (wanted && inside.isPending),
  };
}

/** The callers and callees of a function. */
export function useSandwich(params: FlameParams, weight: Weight, of: string | null) {
  const paced = usePaced<SandwichAnswer>();
  return useQuery({
    queryKey: ['sandwich', params, weight, of],
    queryFn: ({ signal }) => paced.fetch({ ...params, weight, of }, signal),
    enabled: of !== null,
    refetchInterval: paced.interval,
  });
}
