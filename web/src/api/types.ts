import type { Dropped, FailedAttempt, LaneReason } from './schema';

/** The answers of the HTTP API by the names that the UI has for them; schema.ts has their fields. */
export type {
  AttemptDetail as TaskAttempt,
  CrashedWorker as CrashedWorkerItem,
  CrashesAnswer as Crashes,
  Dropped,
  EdgeItem as DataEdge,
  FailedAttempt,
  FailureGroup,
  FailuresAnswer as Failures,
  FunctionItem as FunctionStats,
  FunctionSchedulingItem as FunctionScheduling,
  Lanes,
  SchedulingItem as AttemptScheduling,
  SessionItem as Session,
  Summary,
  TaskDetail,
  TaskItem as Task,
  TasksByOutcome,
  Tracing,
} from './schema';

/** Nanoseconds. Times since the epoch are off by up to 256 ns (see client.ts), durations are exact. */
export type Ns = number;

export type Lane = LaneReason['lane'];

export interface Page<T> {
  items: T[];
  next: string | null;
  total: number;
  /** Of entities: how many of Ray's own the page leaves out. */
  internal_hidden?: number;
  dropped?: Dropped;
}

/** What became of the task of a failed attempt: no attempt succeeded, a retry is under way, or one succeeded. */
export type Outcome = FailedAttempt['outcome'];
export const OUTCOMES = ['final', 'retrying', 'recovered'] as const satisfies Outcome[];

/** An actor, worker, node, job or placement group: what Ray tells of it, by Ray's names. */
export type Item = Record<string, unknown>;
