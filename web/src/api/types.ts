import type { Actor, Dropped, FailedAttempt, Job, LaneReason, PlacementGroup, Worker } from './schema';

/** Nanoseconds. Times since the epoch are off by up to 256 ns (see client.ts); durations are exact. */
export type Ns = number;

export type Lane = LaneReason['lane'];

export interface Page<T> {
  items: T[];
  next: string | null;
  total: number;
  /** For entity lists: number of Ray's internal entities that the page hides. */
  internal_hidden?: number;
  dropped?: Dropped;
}

/**
 * Outcome for the task of a failed attempt: it failed for good, is being retried, or succeeded in a retry.
 */
export type Outcome = FailedAttempt['outcome'];
export const OUTCOMES = ['final', 'retrying', 'recovered'] as const satisfies Outcome[];

type Entity = Actor | Worker | Job | PlacementGroup;
type FieldOf<E> = E extends unknown ? keyof E : never;
/** An actor, worker, job or placement group with the fields that Ray reports. */
export type Item = { [F in FieldOf<Entity>]?: Extract<Entity, Record<F, unknown>>[F] };
