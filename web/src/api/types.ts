import type { SchedulingPhase } from '../lib/scheduling';

/** The answers of the HTTP API (docs/api.md), as far as the UI reads them. */

/** Nanoseconds. Times since the epoch are off by up to 256 ns (see client.ts), durations are exact. */
export type Ns = number;

export interface Dropped {
  /** Lost events of tasks. */
  total: number;
  /** Lost profile spans: tasks are whole without them. */
  spans: number;
  by: {
    source: string;
    reason: string;
    event_type: string;
    count: number;
    first_ns: Ns | null;
    last_ns: Ns | null;
  }[];
  unresolved_attempts: number;
  starts_lost: number;
  /** How much of `total` was known when the tasks were last read again from Ray’s control store. */
  repaired_total: number;
  repaired_ns: Ns | null;
  /** That store had itself dropped some. */
  repaired_partly: boolean;
}

export type Lane = 'fast' | 'json' | 'none' | 'unknown';

/** How many nodes send in which form, and why not in the fast one. */
export interface Lanes {
  fast: number;
  json: number;
  none: number;
  /** Recorded before this was noted. */
  unknown: number;
  reasons: {
    lane: Lane;
    code: string;
    reason: string | null;
    nodes: number;
    node_id: string;
    address: string | null;
  }[];
}

export interface Page<T> {
  items: T[];
  next: string | null;
  total: number;
  /** Of entities: how many of Ray's own the page leaves out. */
  internal_hidden?: number;
  dropped?: Dropped;
}

export interface Session {
  session: string;
  recording: 'events' | 'snapshot' | 'events+snapshot';
  state: 'live' | 'ended' | 'unreadable';
  error: string | null;
  first_ns: Ns | null;
  last_ns: Ns | null;
  tasks: number | null;
  attempts: number | null;
  states: Record<string, number> | null;
  actors: number | null;
  nodes: number | null;
  jobs: number | null;
  disk_bytes: number | null;
  ray_version: string | null;
  gcs_address: string | null;
  dropped_total: number | null;
}

export interface FunctionStats {
  func_name: string | null;
  type: string | null;
  attempts: number;
  finished: number;
  failed: number;
  running: number;
  p50_ns: Ns | null;
  p95_ns: Ns | null;
  max_ns: Ns | null;
  duration_ns: Ns;
  waiting_ns: Ns;
  total_ns: Ns;
}

export interface Summary {
  session: string;
  recording: Session['recording'];
  tasks: number;
  attempts: number;
  states: Record<string, number>;
  first_ns: Ns | null;
  last_ns: Ns | null;
  functions: FunctionStats[];
  failures: {
    task_id: string;
    attempt: number;
    name: string | null;
    error_type: string | null;
    error_message: string | null;
    error_summary: string | null;
    end_ns: Ns | null;
  }[];
  dropped: Dropped | null;
  lanes: Lanes | null;
  tracing: Tracing;
  ingest: {
    events: number;
    batches: number;
    pending_batches: number;
    rejected_batches: number;
    unknown: Record<string, number>;
    last_batch_ns: Ns | null;
    behind_ns: Ns | null;
    error: { message: string; remedy: string } | null;
  } | null;
  cannot_see: string[];
}

/** Of the workers and drivers that ran tasks: how many are traced, and what some said. */
export interface Tracing {
  traced: number;
  untraced: number;
  said: { text: string; workers: number }[];
  summed_calls: number;
  /** Tasks that only the tracer knows: their events are switched off in the code. */
  tasks_without_events: number;
  without_events: { class_name: string | null; tasks: number }[];
}

/** An object and the two tasks that it connects. */
export interface DataEdge {
  producer_task_id: string | null;
  producer_name: string | null;
  consumer_task_id: string | null;
  consumer_name: string | null;
  object_id: string;
  bytes: number | null;
  kind: string;
  nested: boolean;
  /** Ray made an object of a large argument for this call alone. */
  by_value: boolean;
  /** When it had come (ns since the epoch). */
  end_ns: Ns | null;
  is_remote: boolean | null;
}

type PhaseTimes = { [phase in `${SchedulingPhase}_ns`]: Ns };

/** Where the time of an attempt went. */
export interface AttemptScheduling extends PhaseTimes {
  attempt: number;
  total_ns: Ns | null;
  is_local: boolean | null;
}

/** The same by function, summed up. */
export interface FunctionScheduling extends PhaseTimes {
  func_name: string | null;
  attempts: number;
  local: number;
  spilled: number;
}

export const OUTCOMES = ['final', 'retrying', 'recovered'] as const;
/** What became of the task of a failed attempt: no attempt succeeded, a retry is under way, or one succeeded. */
export type Outcome = (typeof OUTCOMES)[number];

export interface FailedAttempt {
  task_id: string;
  attempt: number;
  outcome: Outcome;
  end_ns: Ns | null;
  node_id: string | null;
  message: string | null;
}

/** Failed attempts with one signature: function, error type, message (`#` for what varies) and line. */
export interface FailureGroup extends Record<Outcome, number> {
  func_name: string | null;
  error_type: string | null;
  message: string | null;
  example: string | null;
  path: string | null;
  file: string | null;
  line: number | null;
  outcome: Outcome;
  attempts: number;
  tasks: number;
  first_ns: Ns | null;
  last_ns: Ns | null;
  latest: FailedAttempt[];
}

export interface Failures {
  items: FailureGroup[];
  total: number;
  /** Tasks of all groups. */
  tasks: Record<Outcome, number>;
}

export interface Task {
  task_id: string;
  attempt: number;
  name: string | null;
  func_name: string | null;
  type: string | null;
  state: string | null;
  reported_state: string | null;
  end_known_by: string | null;
  job_id: string | null;
  actor_id: string | null;
  /** As Ray names it; the caller is the task that made the call. */
  parent_task_id: string | null;
  caller_task_id: string | null;
  node_id: string | null;
  worker_id: string | null;
  worker_pid: number | null;
  placement_group_id: string | null;
  error_type: string | null;
  error_message: string | null;
  error_summary: string | null;
  created_ns: Ns | null;
  start_ns: Ns | null;
  end_ns: Ns | null;
  cpu_ns: Ns | null;
  duration_ns: Ns | null;
  waiting_ns: Ns | null;
  total_ns: Ns | null;
}

export interface TaskAttempt extends Task {
  states: { state: string; time_ns: Ns }[];
  phases: { name: string; begin_ns: Ns; end_ns: Ns }[];
  error: { type: string | null; message: string | null; is_cut: boolean } | null;
  start_is_lost: boolean;
  required_resources: unknown;
  label_selector: unknown;
  runtime_env: unknown;
  call_site: string | null;
  language: string | null;
  actor_repr_name?: string | null;
  stdout_file: string | null;
  stderr_file: string | null;
  stdout_start?: number | null;
  stdout_end?: number | null;
  stderr_start?: number | null;
  stderr_end?: number | null;
}

export interface TaskDetail {
  task_id: string;
  attempts: TaskAttempt[];
  parent: { task_id: string; name: string | null; state: string | null } | null;
  call_path: string[];
  children: Task[];
  children_total: number;
  spans: {
    name: string;
    attempt: number;
    begin_ns: Ns;
    /** Null while it blocks, and of one whose task died then. */
    end_ns: Ns | null;
    extra: unknown;
    blocked_on: string[] | null;
  }[];
  spans_total: number;
  data_in: DataEdge[];
  data_in_total: number;
  data_in_bytes: number;
  data_out: DataEdge[];
  data_out_total: number;
  data_out_bytes: number;
  annotations: { attempt: number; kind: string; name: string; value: string; time_ns: Ns }[];
  scheduling: AttemptScheduling[];
}

/** An actor, worker, node, job or placement group: what Ray tells of it, by Ray's names. */
export type Item = Record<string, unknown>;

export interface Cluster {
  session: string;
  nodes: { alive: number; dead: number };
  resources_total: Record<string, number>;
  actors: Record<string, number>;
  jobs: Record<string, number>;
  placement_groups: Record<string, number>;
}
