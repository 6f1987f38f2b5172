import { useSyncExternalStore } from 'react';
import { load, save } from '../base/storage';

/** A running job whose end this browser announces. */
export interface WatchedJob {
  session: string;
  job_id: string;
  name: string;
}

const KEY = 'watchedJobs';
/** Each watched job is asked for every few seconds. The oldest give way. */
const MAX_WATCHED = 10;

let watched: readonly WatchedJob[] = read();
const listeners = new Set<() => void>();

function read(): WatchedJob[] {
  try {
    return JSON.parse(load(KEY) ?? '[]') as WatchedJob[];
  } catch {
    return [];
  }
}

const isSame = (one: WatchedJob, other: WatchedJob) =>
  one.session === other.session && one.job_id === other.job_id;

/** Begins or stops to watch a job. */
export function watch(job: WatchedJob, on: boolean): void {
  const others = watched.filter((one) => !isSame(one, job));
  watched = on ? [...others, job].slice(-MAX_WATCHED) : others;
  save(KEY, JSON.stringify(watched));
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useWatchedJobs = () => useSyncExternalStore(subscribe, () => watched);

export const useIsWatched = (job: WatchedJob) => useWatchedJobs().some((one) => isSame(one, job));
