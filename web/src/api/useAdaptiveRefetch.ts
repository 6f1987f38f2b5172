import { useRef } from 'react';
import { REFRESH_ENDED, refreshInterval } from './connection';
import { useSessionInterval } from './queries';

/** What was asked for longest ago is asked again only when that costs the server little. */
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
