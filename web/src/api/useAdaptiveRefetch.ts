import { useRef } from 'react';
import { REFRESH_ENDED, refreshInterval } from './connection';
import { useSessionInterval } from './queries';

/** Refetches the query that was refreshed longest ago, but only while that is cheap for the server. */
export function useAdaptiveRefetch(session: string): {
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
