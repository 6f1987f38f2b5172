import { useRef } from 'react';
import { REFRESH, refreshInterval } from './connection';
import { useHasEnded } from './queries';

/**
 * A refetch interval that grows with the duration of the last request. `timed` sends a request and measures
 * it.
 */
export function useAdaptiveRefetch(session: string): {
  timed: <T>(question: () => Promise<T>) => Promise<T>;
  interval: () => number;
} {
  const took = useRef(0);
  const ended = useHasEnded(session);
  return {
    timed: async (question) => {
      const began = performance.now();
      const answer = await question();
      took.current = performance.now() - began;
      return answer;
    },
    interval: () => refreshInterval(Math.max(ended ? 30_000 : REFRESH, took.current * 5)),
  };
}
