/** Answers of /api/jobs/{job_id}/progress and /api/events (docs/jobs.md). */
import type { Ns, Page } from '../api/types';

export type States = Record<string, number>;

export interface FunctionProgress {
  func_name: string | null;
  type: string | null;
  attempts: number;
  duration_ns: Ns;
  waiting_ns: Ns;
  total_ns: Ns;
  states: States;
}

export interface Progress {
  id: string;
  attempts: number;
  states: States;
  functions: FunctionProgress[];
  rest: { functions: number; attempts: number; states: States };
}

export const SEVERITIES = ['ERROR', 'WARNING', 'INFO'] as const;
export type Severity = (typeof SEVERITIES)[number];
export const EVENT_KINDS = ['node', 'worker', 'actor', 'job', 'placement_group', 'task', 'loss'] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

export interface ClusterEvent {
  time_ns: Ns;
  severity: Severity;
  kind: EventKind;
  event: string;
  id: string | null;
  title: string | null;
  message: string | null;
  node_id: string | null;
  job_id: string | null;
  count: number;
  last_ns: Ns | null;
}

export interface EventsPage extends Page<ClusterEvent> {
  /** Of all that the other filters leave, whatever severity is asked for. */
  by_severity: Record<Severity, number>;
}
