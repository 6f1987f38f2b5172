import { useCallback } from 'react';
import { useStored } from './useStored';

/** A running job whose end this browser announces. */
export interface WatchedJob {
  session: string;
  job_id: string;
  name: string;
}

/** Each watched job is asked for every few seconds. The oldest give way. */
const MAX_WATCHED = 10;
const NONE: WatchedJob[] = [];

export const isSame = (one: WatchedJob, other: WatchedJob) =>
  one.session === other.session && one.job_id === other.job_id;

/** The watched jobs, and a function that begins or stops to watch one. */
export function useWatchedJobs(): readonly [WatchedJob[], (job: WatchedJob, on: boolean) => void] {
  const [watched, set] = useStored('watchedJobs', NONE);
  const watch = useCallback(
    (job: WatchedJob, on: boolean) =>
      set((before) => {
        const others = before.filter((one) => !isSame(one, job));
        return on ? [...others, job].slice(-MAX_WATCHED) : others;
      }),
    [set],
  );
  return [watched, watch];
}
