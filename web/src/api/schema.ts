/**
 * What the server returns and accepts (docs/reference/api.md). Times are in ns, sizes in bytes.
 *
 * Generated from the server's OpenAPI description by `make types`: do not edit.
 */
/** File format of an export. */
export type Format = 'perfetto' | 'speedscope' | 'parquet' | 'otlp' | 'ray-timeline';

/** The acknowledgement of an alert. */
export interface AckBody {
  session?: string | null;
  fingerprint: string;
  by: string;
  comment?: string;
}
/** The acknowledgement of an alert. */
export interface AckInfo {
  by: string;
  comment: string;
  time_ns: number;
}
/** How many attempts were in flight, were running, and failed, in equal parts of the session's time. */
export interface ActivityAnswer {
  session: string;
  begin_ns: number | null;
  end_ns: number | null;
  bucket_ns: number | null;
  in_flight: number[];
  running: number[];
  failed: number[];
}
/** An actor in its current or last state. ``gpus``: the GPUs that Ray assigned to it. */
export interface Actor {
  gpu_scope: ('own' | 'process' | 'shared' | 'unsupported' | 'mig' | 'unmeasured') | null;
  gpu_busy_ns: number | null;
  gpu_measured_ns: number | null;
  gpu_held_ns: number | null;
  gpu_memory_peak_bytes: number | null;
  actor_id: string;
  state: string | null;
  class_name: string | null;
  name: string | null;
  ray_namespace: string | null;
  job_id: string | null;
  node_id: string | null;
  worker_id: string | null;
  pid: number | null;
  repr_name: string | null;
  is_detached: boolean | null;
  num_restarts: number | null;
  max_restarts: number | null;
  required_resources: string | null;
  placement_group_id: string | null;
  label_selector: string | null;
  runtime_env: string | null;
  call_site: string | null;
  death_reason: string | null;
  death_cause: string | null;
  start_ns: number | null;
  end_ns: number | null;
  end_known_by: string | null;
  is_internal: boolean;
  gpus: GpuShare[];
}
/**
 * A GPU that Ray assigned, and the assigned share of it. ``index``: as returned by ``ray.get_gpu_ids``.
 */
export interface GpuShare {
  index: string | null;
  share: number;
}
/** All fields of an actor. */
export interface ActorDetail {
  gpu_scope: ('own' | 'process' | 'shared' | 'unsupported' | 'mig' | 'unmeasured') | null;
  gpu_busy_ns: number | null;
  gpu_measured_ns: number | null;
  gpu_held_ns: number | null;
  gpu_memory_peak_bytes: number | null;
  actor_id: string;
  state: string | null;
  class_name: string | null;
  name: string | null;
  ray_namespace: string | null;
  job_id: string | null;
  node_id: string | null;
  worker_id: string | null;
  pid: number | null;
  repr_name: string | null;
  is_detached: boolean | null;
  num_restarts: number | null;
  max_restarts: number | null;
  required_resources: string | null;
  placement_group_id: string | null;
  label_selector: string | null;
  runtime_env: string | null;
  call_site: string | null;
  death_reason: string | null;
  death_cause: string | null;
  start_ns: number | null;
  end_ns: number | null;
  end_known_by: string | null;
  is_internal: boolean;
  gpus: GpuShare[];
  history: {
    [k: string]: unknown;
  }[];
}
/** A page of actors. */
export interface ActorPage {
  next: string | null;
  total: number;
  internal_hidden: number;
  dropped: Dropped;
  items: Actor[];
}
/** The data that is missing from a record. */
export interface Dropped {
  total: number;
  spans: number;
  by: DroppedBy[];
  unresolved_attempts: number;
  starts_lost: number;
  repaired_total: number;
  repaired_ns: number | null;
  repaired_partly: boolean;
}
/** Data that was lost, as counted by ``source``. */
export interface DroppedBy {
  source: string;
  reason: string;
  event_type: string;
  count: number;
  first_ns: number | null;
  last_ns: number | null;
}
/** A class of actors has ``count`` more actors, which share its calls. */
export interface ActorsChange {
  kind: 'actors';
  class_name: string;
  count: number;
}
/** Figures reported by a node's agent. Counts are totals since its process started. */
export interface AgentFigures {
  pid: number;
  ray_version: string;
  rayscope_version: string;
  time_ns: number;
  since_ns: number;
  received: number;
  sent: number;
  waiting: number;
  raw_bytes: number;
  sent_bytes: number;
  bodies: number;
  refused: number;
  trouble: string | null;
  busy_s: number;
  cpu_s: number;
  lost: number;
  dropped_attempts: number;
}
/** An alert's change of state, and the series that caused it. */
export interface AlertEvent {
  time_ns: number;
  before: 'inactive' | 'pending' | 'firing' | 'resolved' | 'ended';
  after: 'inactive' | 'pending' | 'firing' | 'resolved' | 'ended';
  labels: {
    [k: string]: string;
  };
  annotations: {
    [k: string]: string;
  };
  value: number | null;
  rule: string;
  fingerprint: string;
  threshold: number | null;
  op: string | null;
  times_ms: number[];
  values: (number | null)[];
  profile: AlertProfile | null;
}
/** The profile that an alert took when it began to fire, or the reason why it took none. */
export interface AlertProfile {
  profile_id: string | null;
  problem: ErrorDetail | null;
}
/** A problem and its remedy. ``params`` contains the values in the message, if there are any. */
export interface ErrorDetail {
  code: string;
  message: string;
  remedy: string;
  params?: {
    [k: string]: string | number;
  };
}
/**
 * One alert. Times that do not apply are 0. ``silenced_by`` contains the IDs of active silences that
 * match it.
 */
export interface AlertInfo {
  fingerprint: string;
  rule: string;
  labels: {
    [k: string]: string;
  };
  annotations: {
    [k: string]: string;
  };
  state: 'pending' | 'firing' | 'resolved' | 'ended';
  value: number | null;
  active_ns: number;
  fired_ns: number;
  resolved_ns: number;
  keep_ns: number;
  ack: AckInfo | null;
  condition: string;
  profile: AlertProfile | null;
  severity: string;
  silenced_by: string[];
}
/**
 * The alerts of a session. If it is not ``live``, ``items`` are those that fired until it ended, and
 * ``ended`` is their number.
 */
export interface AlertsAnswer {
  firing: number;
  info: number;
  pending: number;
  ended: number;
  live: boolean;
  items: AlertInfo[];
  session: string;
  evaluated_ns: number | null;
  left_out: number;
  resolved: AlertInfo[];
  resolved_left_out: number;
}
/** The amounts of one resource. */
export interface AmountOf {
  total: number;
  available: number;
  used: number;
}
/** An annotation of a task by user code, or (``pause``) where it waited for a debugger. */
export interface AnnotationItem {
  attempt: number;
  kind: string;
  name: string;
  value: string;
  number: number | null;
  time_ns: number;
}
/** The archive for ended sessions, and the error if it cannot be used now. */
export interface Archive {
  url: string;
  error: ErrorDetail | null;
}
/** The session of the attached cluster. */
export interface Attached {
  session: string;
}
/** All fields of an attempt. ``start_is_lost``: the start of its function was not reported. */
export interface AttemptDetail {
  gpu_scope: ('own' | 'process' | 'shared' | 'unsupported' | 'mig' | 'unmeasured') | null;
  gpu_busy_ns: number | null;
  gpu_measured_ns: number | null;
  gpu_held_ns: number | null;
  gpu_memory_peak_bytes: number | null;
  task_id: string;
  attempt: number;
  name: string | null;
  func_name: string | null;
  type: string | null;
  state: string;
  reported_state: string;
  end_known_by: string | null;
  job_id: string | null;
  actor_id: string | null;
  parent_task_id: string | null;
  caller_task_id: string | null;
  node_id: string | null;
  worker_id: string | null;
  worker_pid: number | null;
  placement_group_id: string | null;
  error_type: string | null;
  error_message: string | null;
  error_summary: string | null;
  created_ns: number | null;
  start_ns: number | null;
  end_ns: number | null;
  cpu_ns: number | null;
  peak_memory: number | null;
  start_memory: number | null;
  memory_scope: ('own' | 'shared' | 'off' | 'unavailable') | null;
  duration_ns: number | null;
  waiting_ns: number | null;
  total_ns: number | null;
  start_is_lost: boolean;
  lost_with: LostWith | null;
  states: StateTime[];
  phases: Phase[];
  error: TaskFailure | null;
  required_resources: string | null;
  gpus: GpuShare[];
  label_selector: string | null;
  runtime_env: string | null;
  call_site: string | null;
  language: string | null;
  actor_repr_name: string | null;
  stdout_file: string | null;
  stderr_file: string | null;
  stdout_start: number | null;
  stdout_end: number | null;
  stderr_start: number | null;
  stderr_end: number | null;
}
/** The worker, actor or node whose death ended an attempt. ``GET /api/v1/deaths`` explains it. */
export interface LostWith {
  kind: 'worker' | 'actor' | 'node';
  id: string;
}
/** When a state was entered. */
export interface StateTime {
  state: string;
  time_ns: number;
}
/** A phase of the execution: deserialize, execute, store, total. */
export interface Phase {
  name: string;
  begin_ns: number;
  end_ns: number;
}
/** Ray's error type and message. ``is_cut``: Ray kept only the end of the message. */
export interface TaskFailure {
  type: string;
  message: string | null;
  is_cut: boolean;
}
/** The autoscaler's own report: nodes by type, and what it could not start. */
export interface AutoscalerStatus {
  version: number;
  active: {
    [k: string]: number;
  };
  idle: {
    [k: string]: number;
  };
  pending: {
    [k: string]: number;
  };
  failed: [string, string][];
  infeasible: {
    [k: string]: number;
  }[];
  time_ns: number | null;
}
/**
 * A function of tasks that an attempt awaits. ``count``: the number of these tasks. ``task_id``: one of
 * them.
 */
export interface AwaitedFunction {
  name: string;
  count: number;
  task_id: string;
}
/** A task whose value another task awaits as an argument, and which is not ready yet. */
export interface AwaitedTask {
  task_id: string;
  name: string | null;
  state: string | null;
}
/** Each call of a function does the work of ``size`` calls. */
export interface BatchChange {
  kind: 'batch';
  function: string;
  size: number;
}
/** How long the job took, how long its unchanged replay takes, and the relative difference. */
export interface Calibration {
  recorded_ns: number;
  replayed_ns: number | null;
  error: number | null;
  ray_ns: number | null;
}
/**
 * Nodes as columns: the head node first, then the others by name. ``workers`` excludes Ray's own
 * processes, which ``internal`` counts.
 */
export interface CellNodes {
  node_id: string[];
  name: string[];
  is_head: boolean[];
  workers: number[];
  internal: number[];
  running: number[];
}
/**
 * Workers as columns, sorted by node. Numbers, except ``pid`` and ``running``, are indexes into
 * ``nodes``, ``kinds``, ``classes`` and ``functions``; -1 means none.
 */
export interface CellWorkers {
  key: string[];
  node: number[];
  is_internal: boolean[];
  kind: number[];
  pid: number[];
  actor_class: number[];
  function: number[];
  running: number[];
}
/** Every node and worker in compact form. */
export interface CellsAnswer {
  session: string;
  live: boolean;
  at_ns: number | null;
  nodes: CellNodes;
  workers: CellWorkers;
  kinds: string[];
  classes: string[];
  functions: string[];
  measured: Measured;
  usage_error: string | null;
  usage_remedy: string | null;
  usage_code: string | null;
  usage_params: {
    [k: string]: string | number;
  } | null;
  dead: DeadNode[];
  nodes_total: number;
  workers_total: number;
  workers_left_out: number;
}
/** Measurements of the answer's nodes and workers, in the same order. -1 means unknown. */
export interface Measured {
  nodes: NodePercents;
  time_ns: number | null;
  cpu: number[];
  memory: number[];
  gpu_memory: number[];
  mem_total: number[];
  gpu_mem_total: number[];
  cpus: number[];
}
/** Percentages of each node; -1 means unknown. */
export interface NodePercents {
  cpu: number[];
  memory: number[];
  gpu: number[];
  gpu_memory: number[];
  disk: number[];
  object_store: number[];
}
/** A node that has died. */
export interface DeadNode {
  node_id: string;
  name: string | null;
  node_ip: string | null;
  is_head: boolean | null;
  end_ns: number | null;
  death_reason: string | null;
  resources_total: string | null;
}
/** The rule or channel that was changed. */
export interface Changed {
  name: string;
}
/**
 * A channel. ``config`` contains the settings of its type, such as ``urls``. Null keeps the current
 * settings. ``rules``: the rules whose alerts are sent, all if empty.
 */
export interface ChannelBody {
  type: string;
  config?: {
    [k: string]: unknown;
  } | null;
  match?: {
    [k: string]: string;
  };
  rules?: string[];
  send_resolved?: boolean;
  send_info?: boolean;
}
/** A channel, its targets (without secrets), and the state of its deliveries. */
export interface ChannelInfo {
  name: string;
  type: string;
  targets: string[];
  match: {
    [k: string]: string;
  };
  rules: string[];
  send_resolved: boolean;
  send_info: boolean;
  group_by: string[];
  group_wait_s: number;
  group_interval_s: number;
  repeat_interval_s: number;
  problem: ErrorDetail | null;
  sent: number;
  failed: number;
  dropped: number;
  waiting: number;
  tries: number;
  last_ns: number | null;
  last_ok: boolean | null;
  last_error: ErrorDetail | null;
  last_title: string | null;
  next_try_ns: number | null;
}
/** The result of a test notification. */
export interface ChannelTested {
  ok: boolean;
  error: ErrorDetail | null;
}
/** The channels of ``channels.yml``. */
export interface ChannelsAnswer {
  items: ChannelInfo[];
  kinds: string[];
  file: string;
  problem: ErrorDetail | null;
}
/** A PromQL expression, and the names of its series, in which `{{label}}` stands for a label's value. */
export interface ChartQuery {
  expr: string;
  legend: string | null;
  bold: boolean;
}
/** The charts of all pages. The dashboards for Grafana show the same charts. */
export interface ChartsAnswer {
  pages: ListedPage[];
}
/** The charts of a page. */
export interface ListedPage {
  name: string;
  title: string;
  charts: ListedChart[];
  variables: ListedVariable[];
}
/** A chart of a page. */
export interface ListedChart {
  title: string;
  queries: ChartQuery[];
  unit: string;
  width: number;
  stacked: boolean;
  key: string;
}
/** A variable `$name` in a page's expressions, whose values are those of a metric's label. */
export interface ListedVariable {
  name: string;
  label: string;
  metric: string;
}
/** A cluster to attach to: the GCS address ``host:port``, and Ray's token if it requires one. */
export interface Cluster {
  address: string;
  ray_token?: string | null;
}
/** The number of entities of each kind. */
export interface ClusterAnswer {
  recording: 'events' | 'snapshot' | 'events+snapshot';
  nodes: NodeCounts;
  resources_total: {
    [k: string]: number;
  };
  actors: {
    [k: string]: number;
  };
  jobs: {
    [k: string]: number;
  };
  workers: {
    [k: string]: number;
  };
  placement_groups: {
    [k: string]: number;
  };
  libraries: {
    [k: string]: {
      [k: string]: number;
    };
  };
  session: string;
  tasks: {
    [k: string]: number;
  };
}
/** The numbers of live and dead nodes. */
export interface NodeCounts {
  alive: number;
  dead: number;
}
/** The state of a collector. ``ok`` is null before its first result. If ``ok``, ``error`` is a warning. */
export interface CollectorItem {
  name: string;
  target: string;
  ok: boolean | null;
  error: string | null;
  remedy: string | null;
  code: string | null;
  params: {
    [k: string]: string | number;
  } | null;
  problems: ErrorDetail[];
  cost_s: number;
  took_s: number;
  last_ns: number | null;
  samples: number;
  left_out: number;
  interval_s: number;
  timeout_s: number;
}
/**
 * Two sides compared. The parts of ``waterfall`` sum to the difference between the durations of the two
 * runs that are shown. ``common`` is the factor by which most functions changed, per attempt. 1: there is
 * none.
 */
export interface CompareAnswer {
  a: Side;
  b: Side;
  duration: DurationChange;
  waterfall: WaterfallPart[];
  common: number;
  functions: FunctionChange[];
  functions_left_out: number;
  warnings: Warned[];
  differences: DifferenceItem[];
}
/** The runs of one side. ``shown`` is the run with the median duration, whose path the waterfall shows. */
export interface Side {
  runs: ComparedRun[];
  left_out: ComparedRun[];
  shown: ComparedRun;
}
/** One run: a job. ``name`` is its script with its arguments, '' if unknown. */
export interface ComparedRun {
  session: string;
  job_id: string;
  name: string;
  begin_ns: number;
  duration_ns: number;
}
/**
 * How the durations differ. ``a_ns`` and ``b_ns`` are their geometric means, and ``ratio`` is B's by A's.
 */
export interface DurationChange {
  verdict: 'slower' | 'faster' | 'no_change' | 'cannot_tell';
  a_ns: number;
  b_ns: number;
  ratio: number;
  low: number | null;
  high: number | null;
  p: number | null;
  spread: number | null;
  more_runs: number | null;
  margin: number;
}
/** A part of the difference between the two paths that are shown. */
export interface WaterfallPart {
  phase: string;
  function: string;
  is_driver: boolean;
  a_ns: number;
  b_ns: number;
  change_ns: number;
}
/** A function or a call path that ran on at least one side. */
export interface FunctionChange {
  name: string;
  module: string | null;
  renamed_from: string | null;
  verdict: ('slower' | 'faster' | 'no_change' | 'cannot_tell') | ('new' | 'gone');
  ratio: number | null;
  own_ratio: number | null;
  p: number | null;
  change_ns: number;
  a: FunctionSide | null;
  b: FunctionSide | null;
}
/** A function on one side. ``runs`` of its runs have it. */
export interface FunctionSide {
  runs: number;
  attempts: number;
  failed: number;
  mean_ns: number | null;
  p50_ns: number | null;
  p95_ns: number | null;
  total_ns: number;
  cpu_ns: number | null;
  peak_memory: number | null;
  input_bytes: number | null;
  output_bytes: number | null;
}
/** A reason why the sides may not be comparable, with what is recorded about A and B. */
export interface Warned {
  code: string;
  a: string[];
  b: string[];
}
/** Something else that differs, such as a version or a setting. Null: not recorded on that side. */
export interface DifferenceItem {
  what: string;
  a: string[] | null;
  b: string[] | null;
  same_chars: number;
}
/**
 * A finding about the run A, B, or both. ``a_share``, ``b_share``: how much it costs or would save, as a
 * share of the run's time; null if that run does not have it.
 */
export interface ComparedFinding {
  change: 'came' | 'went' | 'stayed';
  kind: string;
  title: string;
  severity: 'critical' | 'warning' | 'info';
  function: string | null;
  actor_class: string | null;
  caller: string | null;
  a_share: number | null;
  b_share: number | null;
}
/**
 * The findings of two runs. ``too_large``: the runs that have too many attempts for findings.
 * Then there are no items. ``not_replayed``: the runs of which all shares are maximum costs.
 */
export interface ComparedFindings {
  items: ComparedFinding[];
  too_large: ('a' | 'b')[];
  not_replayed: ('a' | 'b')[];
}
/** A line of code. The shares are those of the samples in which it was innermost. */
export interface ComparedLine {
  file: string;
  line: number;
  function: string;
  a_share: number;
  b_share: number;
  points: number;
  verdict: 'more' | 'less' | 'cannot_tell';
}
/** The lines of a function whose share of its samples changed the most. */
export interface ComparedLines {
  a_samples: number;
  b_samples: number;
  min_samples: number;
  items: ComparedLine[];
}
/** The largest node has ``count`` more CPUs. */
export interface CpusChange {
  kind: 'cpus';
  count: number;
}
/**
 * Whether a crash did harm. ``code``: explained in docs/reference/faults.md. ``number``: the count that
 * the code refers to.
 */
export interface CrashHarm {
  harm: 'none' | 'harmed' | 'unknown';
  code: string;
  number: number;
  message: string;
}
/** A worker or driver that crashed: what it did, how it ended according to Ray, and its log. */
export interface CrashedWorker {
  worker_id: string;
  worker_type: string | null;
  node_id: string | null;
  pid: number | null;
  job_id: string | null;
  actor_id: string | null;
  actor_class: string | null;
  actor_name: string | null;
  function: string | null;
  script: string | null;
  exit_type: string | null;
  exit_detail: string | null;
  end_ns: number | null;
  signal: string | null;
  reason: string | null;
  is_race: boolean;
  harm: CrashHarm;
  file: string | null;
  offset: number | null;
  lines: string[];
  death: Death | null;
}
/** Why a worker, actor, node or job ended. */
export interface Death {
  kind: 'worker' | 'actor' | 'node' | 'job';
  id: string;
  end_ns: number | null;
  cause: string;
  is_expected: boolean;
  chain: DeathLink[];
  candidates: DeathText[];
  missing: DeathText | null;
  process: ProcessEnd | null;
  memory_bytes: number | null;
  ray: string | null;
}
/** A step from a death to its cause. ``kind``, ``id``: what ``message`` is about. */
export interface DeathLink {
  code: string;
  kind: 'worker' | 'actor' | 'node' | 'job';
  id: string;
  params: {
    [k: string]: string | number;
  };
  message: string;
  source: 'ray' | 'kernel' | 'kernel_log' | 'oom_counter' | 'log' | 'program' | 'platform';
  time_ns: number | null;
}
/** A cause that the record does not rule out, or what would tell such causes apart. */
export interface DeathText {
  code: string;
  message: string;
}
/** The end of a process, and the last measurements before it, in bytes. */
export interface ProcessEnd {
  exit_code: number | null;
  signal: string | null;
  source: string | null;
  end_ns: number | null;
  rss_bytes: number | null;
  memory_available: number | null;
  memory_total: number | null;
  cgroup_limit: number | null;
  cgroup_used: number | null;
  oom_kills: number | null;
  kernel_record: string | null;
  disk_free: number | null;
  fds: number | null;
}
/**
 * Crashed workers, newest first. ``workers``: how many workers the session had. ``left_out``: how many
 * crashed workers are not listed.
 */
export interface CrashesAnswer {
  session: string;
  workers: number;
  total: number;
  harmed: number;
  unknown: number;
  in_race: number;
  left_out: number;
  items: CrashedWorker[];
}
/** The chain of work and waits that determined how long a job took. */
export interface CriticalPathAnswer {
  session: string;
  job_id: string | null;
  begin_ns: number;
  end_ns: number;
  duration_ns: number;
  links: PathLink[];
  links_total: number;
  left_out_ns: number;
  functions: PathFunction[];
  causes: PathCause[];
  phases: {
    [k: string]: number;
  };
  held_ns: number;
  so_far: boolean;
  driver_traced: boolean;
  truncated: boolean;
}
/** A stretch of the critical path. */
export interface PathLink {
  task_id: string;
  attempt: number;
  name: string;
  phase: string;
  begin_ns: number;
  end_ns: number;
  held_ns: number;
  share: number;
}
/** One function's time on the critical path, and the duration of the path without it. */
export interface PathFunction {
  name: string;
  is_driver: boolean;
  links: number;
  total_ns: number;
  share: number;
  by_phase: {
    [k: string]: number;
  };
  held_ns: number;
  without_ns: number;
}
/** Time on the path due to one function that executed, or to one phase of ``functions`` functions. */
export interface PathCause {
  phase: string;
  name: string;
  is_driver: boolean;
  functions: number;
  total_ns: number;
  held_ns: number;
  share: number;
  actor: PathActor | null;
}
/** The actor that spent the most time on the path in one function. */
export interface PathActor {
  actor_id: string;
  pid: number | null;
  node_id: string | null;
  host: string | null;
  actors: number;
  total_ns: number;
}
/** A stored dashboard. Its name is the name of its file. */
export interface Dashboard {
  name: string;
  title: string;
  charts: KeptChart[];
}
/** A stored chart. */
export interface KeptChart {
  title: string;
  queries: ChartQuery[];
  unit: string;
  width: number;
  stacked: boolean;
}
/** A chart of a dashboard: one expression (`expr`) or several (`queries`). */
export interface DashboardChart {
  title: string;
  expr?: string | null;
  queries?: QueryGiven[];
  unit?: string;
  width?: 1 | 2 | 3;
  stacked?: boolean;
}
/** A PromQL expression, and the names of its series, as in `ChartQuery`. */
export interface QueryGiven {
  expr: string;
  legend?: string | null;
  bold?: boolean;
}
/** A dashboard to store. */
export interface DashboardGiven {
  title: string;
  charts: DashboardChart[];
}
/** A dashboard without its charts. ``changed_ns``: when its file was written. */
export interface DashboardInShort {
  name: string;
  title: string;
  charts_total: number;
  changed_ns: number;
}
/** All dashboards. ``unreadable``: names of files that are not valid dashboards. */
export interface DashboardsAnswer {
  items: DashboardInShort[];
  unreadable: string[];
}
/** A single dataset. */
export interface DatasetAnswer {
  dataset_id: string;
  name: string;
  job_id: string | null;
  entrypoint: string | null;
  state: string | null;
  start_ns: number | null;
  end_ns: number | null;
  end_known_by: ('job' | 'session') | null;
  progress: number | null;
  total: number | null;
  total_rows: number | null;
  operators: OperatorDetail[];
  warnings: DatasetWarning[];
  bottleneck: string | null;
  begin_ns: number | null;
  bucket_ns: number | null;
  session: string;
}
/** An operator with the tasks that ran for it. */
export interface OperatorDetail {
  operator_id: string;
  name: string;
  state: string | null;
  position: number;
  progress: number | null;
  total: number | null;
  total_rows: number | null;
  queued_blocks: number | null;
  inputs: string[] | null;
  tasks: OperatorTasks | null;
  least_ns: number;
  running: number[];
  actors: number;
  actor_start_ns: number | null;
}
/** The tasks that ran for an operator: times in ns, sizes in bytes (None without the tracer). */
export interface OperatorTasks {
  names: TaskNames[];
  states: {
    [k: string]: number;
  };
  at_once: number | null;
  first_ns: number | null;
  last_ns: number | null;
  time_ns: number | null;
  steady_ns: number | null;
  p50_ns: number | null;
  p95_ns: number | null;
  max_ns: number | null;
  output_bytes: number | null;
  p50_bytes: number | null;
  max_bytes: number | null;
}
/** Filters that find tasks in the list of tasks. */
export interface TaskNames {
  func_name: string | null;
  name: string | null;
}
/** A warning from Ray Data about an operator. ``issue``: its kind, in Ray Data's words. */
export interface DatasetWarning {
  time_ns: number;
  operator: string;
  issue: string | null;
  message: string | null;
}
/** A dataset that was executed. ``end_known_by``: ``job`` or ``session`` if the end is inferred. */
export interface DatasetItem {
  dataset_id: string;
  name: string;
  job_id: string | null;
  entrypoint: string | null;
  state: string | null;
  start_ns: number | null;
  end_ns: number | null;
  end_known_by: ('job' | 'session') | null;
  progress: number | null;
  total: number | null;
  total_rows: number | null;
  operators: OperatorItem[];
}
/**
 * An operator of a dataset. ``progress`` and ``total``: numbers of blocks, None if Ray does not know
 * them.
 */
export interface OperatorItem {
  operator_id: string;
  name: string;
  state: string | null;
  position: number;
  progress: number | null;
  total: number | null;
  total_rows: number | null;
  queued_blocks: number | null;
  inputs: string[] | null;
}
/** The datasets of a session, newest first. ``problem``: why the data may be out of date. */
export interface DatasetPage {
  session: string;
  total: number;
  problem: ErrorDetail | null;
  items: DatasetItem[];
}
/** A worker, actor, node or job that ended. */
export interface DeathSubject {
  kind: 'worker' | 'actor' | 'node' | 'job';
  id: string;
}
/** Deaths, the newest first. ``left_out``: how many of the kind are not listed. */
export interface DeathsAnswer {
  session: string;
  total: number;
  left_out: number;
  items: Death[];
}
/** Whether Ray has deleted the job. Rayscope's record is kept. */
export interface Deleted {
  deleted: boolean;
}
/** A target in Prometheus' format: https://prometheus.io/docs/prometheus/latest/http_sd/ */
export interface DiscoveredTarget {
  targets: string[];
  labels: {
    [k: string]: string;
  };
}
/** A file system. ``used_bytes`` and ``free_bytes`` are the part that users can fill. */
export interface Disk {
  path: string;
  total_bytes: number;
  used_bytes: number;
  free_bytes: number;
}
/** An object and the two tasks that it connects. */
export interface EdgeItem {
  producer_task_id: string | null;
  producer_name: string | null;
  consumer_task_id: string | null;
  consumer_name: string | null;
  object_id: string;
  bytes: number | null;
  kind: string;
  nested: boolean;
  by_value: boolean;
  begin_ns: number | null;
  end_ns: number | null;
  gets: number;
  blocked_ns: number | null;
  is_remote: boolean | null;
}
/** Whether a rule is evaluated. */
export interface EnabledBody {
  enabled: boolean;
}
/** The body of every error response. */
export interface ErrorAnswer {
  error: ErrorDetail;
}
/** An event, or ``count`` similar events, the last of them at ``last_ns``. Times are in ns. */
export interface Event {
  time_ns: number;
  severity: 'ERROR' | 'WARNING' | 'INFO';
  kind: 'node' | 'worker' | 'actor' | 'job' | 'placement_group' | 'task' | 'dataset' | 'platform' | 'loss';
  event: string;
  id: string | null;
  title: string | null;
  message: string | null;
  node_id: string | null;
  job_id: string | null;
  count: number;
  last_ns: number | null;
  ended: DeathSubject | null;
  causes: DeathLink[];
}
/** A page of events, newest first. */
export interface EventsAnswer {
  items: Event[];
  next: string | null;
  total: number;
  by_severity: EventsBySeverity;
  dropped: Dropped;
}
/** The number of events by severity, regardless of the requested severity. */
export interface EventsBySeverity {
  ERROR: number;
  WARNING: number;
  INFO: number;
}
/** A part of the critical path. ``text``: an explanation and advice, "" below 15 % of the path. */
export interface ExplainedCause {
  phase: string;
  name: string;
  is_driver: boolean;
  functions: number;
  total_ns: number;
  held_ns: number;
  share: number;
  actor: PathActor | null;
  text: string;
}
/** A failed attempt of a group, the outcome of its task, and its own message. */
export interface FailedAttempt {
  task_id: string;
  attempt: number;
  outcome: 'final' | 'retrying' | 'recovered';
  end_ns: number | null;
  node_id: string | null;
  message: string | null;
  lost_with: LostWith | null;
}
/**
 * Failed attempts with one signature: function, error type, message (``#``: variable parts), file, line.
 */
export interface FailureGroup {
  func_name: string | null;
  origin: string | null;
  operator: string | null;
  error_type: string | null;
  message: string | null;
  example: string | null;
  path: string | null;
  file: string | null;
  line: number | null;
  outcome: 'final' | 'retrying' | 'recovered';
  attempts: number;
  tasks: number;
  final: number;
  retrying: number;
  recovered: number;
  first_ns: number | null;
  last_ns: number | null;
  latest: FailedAttempt[];
  causes: DeathLink[];
}
/** A failed attempt. */
export interface FailureItem {
  task_id: string;
  attempt: number;
  name: string | null;
  error_type: string | null;
  error_message: string | null;
  error_summary: string | null;
  end_ns: number | null;
}
/** Failures by signature. ``tasks``: all of their tasks by outcome. */
export interface FailuresAnswer {
  session: string;
  items: FailureGroup[];
  total: number;
  stopped_by_libraries: number;
  tasks: TasksByOutcome;
}
/** The number of tasks by outcome. */
export interface TasksByOutcome {
  final: number;
  retrying: number;
  recovered: number;
}
/** A rule file, or a rule in one, that cannot be used. ``rule`` is empty if the whole file is meant. */
export interface FileProblem {
  code: string;
  message: string;
  remedy: string;
  params?: {
    [k: string]: string | number;
  };
  file: string;
  rule: string;
}
/** Hits by kind. Kinds without hits are left out. */
export interface FindAnswer {
  session: string;
  groups: FoundGroup[];
}
/** The best hits of a kind, the best one first, and the total number of hits. */
export interface FoundGroup {
  kind:
    | 'function'
    | 'task'
    | 'actor'
    | 'node'
    | 'worker'
    | 'job'
    | 'placement_group'
    | 'dataset'
    | 'serve_application'
    | 'train_run'
    | 'tune_experiment'
    | 'tune_trial'
    | 'log_file'
    | 'metric';
  items: FoundItem[];
  total: number;
}
/** A hit. ``id``: its ID, or its name in the case of a function, a log file or a metric. */
export interface FoundItem {
  id: string;
  name: string | null;
  detail: string | null;
  state: string | null;
  attempt: number | null;
  node_id: string | null;
}
/** Something that slows the job down or puts it at risk, and what to do about it. */
export interface FindingItem {
  saving_ns: number | null;
  saving_low_ns: number | null;
  saving_high_ns: number | null;
  kind: string;
  title: string;
  severity: 'critical' | 'warning' | 'info';
  share: number;
  cost_ns: number;
  is_risk: boolean;
  on_path_ns: number | null;
  confidence: 'high' | 'medium' | 'low';
  function: string | null;
  actor_class: string | null;
  caller: string | null;
  origin: string | null;
  numbers: {
    [k: string]: number | string;
  };
  advice: string;
  sketch: string;
  doc: string;
  filters: {
    [k: string]: string;
  };
}
/** A flame graph. With the weight ``critical_path``, ``path_job_id`` is the job of the path. */
export interface FlameAnswer {
  frames: FlameFrame[];
  frames_total: number;
  folded: number;
  session: string;
  weight: 'executing' | 'awaiting' | 'duration' | 'cpu' | 'count' | 'bytes' | 'memory_time' | 'critical_path';
  path_job_id: string | null;
  total: number;
  attempts: number;
  baseline_total: number | null;
  focus: string | null;
  ancestors: FlameFrame[];
  libraries: FoldedLibrary[];
}
/** A call path. ``own`` covers its own attempts, and ``value`` also those below it. */
export interface FlameFrame {
  id: string;
  parent: string | null;
  name: string | null;
  kind: 'driver' | 'call' | 'library' | 'unknown' | 'other';
  depth: number;
  own: number;
  value: number;
  attempts: number;
  failed: number;
  running: number;
  duration_ns: number;
  executing_ns: number;
  awaiting_ns: number;
  blocked_ns: number;
  bytes: number;
  cpu_ns: number;
  cpu_known: number;
  memory_byte_seconds: number;
  memory_known: number;
  memory_shared: number;
  p95_memory: number | null;
  max_memory: number | null;
  first_ns: number | null;
  p50_ns: number | null;
  p95_ns: number | null;
  max_ns: number | null;
  folded: number;
  baseline_own: number | null;
  baseline_value: number | null;
}
/** A library or a library's operator, and how many of its functions are in the graph. */
export interface FoldedLibrary {
  library: string;
  functions: number;
}
/** Frames, parents before children. ``folded`` of ``frames_total`` were merged into ``other`` frames. */
export interface FlameTree {
  frames: FlameFrame[];
  frames_total: number;
  folded: number;
}
/** A server that shares the warehouse, last seen ``age_s`` ago. ``sessions``: how many it records. */
export interface FleetServer {
  server: string;
  url: string;
  is_alive: boolean;
  age_s: number;
  sessions: number;
}
/** The URI at which the cluster's nodes find the folder. */
export interface FolderAnswer {
  uri: string;
}
/** A Python frame. ``frame_id``: for its variables and source. */
export interface Frame {
  frame_id: number;
  function: string;
  file: string | null;
  line: number;
}
/** The Python frames of workers at ``at_ns``. */
export interface FramesAnswer {
  session: string;
  at_ns: number;
  whole: boolean;
  asked: number;
  left_out: number;
  nodes: NodeFrames[];
  folded_frames: number;
  workers: SeenWorker[];
  problems: FramesProblem[];
}
/** The frames below one node of the stack. */
export interface NodeFrames {
  node: string;
  workers: number;
  idle_threads: number;
  frames: MergedFrame[];
}
/** Stacks that have the same frames from the outermost frame to this one. */
export interface MergedFrame {
  id: string;
  parent: string | null;
  depth: number;
  kind: 'code' | 'thread' | 'cut' | 'await' | 'none';
  name: string;
  file: string;
  line: number | null;
  count: number;
  own: number;
  active: number;
  workers: number;
  examples: string[];
}
/** A worker whose frames are in the response. ``title`` is the title of its process. */
export interface SeenWorker {
  worker_id: string;
  node_id: string | null;
  pid: number | null;
  title: string;
}
/** The reason why the frames of ``count`` workers are missing. */
export interface FramesProblem {
  code: string;
  message: string;
  remedy: string;
  params?: {
    [k: string]: string | number;
  };
  count: number;
  workers: FramesWorker[];
}
/** A requested worker. If it is not running anything, only its ID is known. */
export interface FramesWorker {
  worker_id: string;
  node_id: string | null;
  pid: number | null;
}
/** The workers to sample: all busy ones, those at and below one line of the stack, or the listed ones. */
export interface FramesRequest {
  /** Session name (default: the newest). */
  session?: string | null;
  /** A node of /api/v1/flow/stack. */
  node?: string | null;
  workers?: string[] | null;
  /** Include Ray's own frames and idle threads. */
  whole?: boolean;
}
/** The job's gain if a function took half the time. */
export interface FunctionGain {
  saving_ns: number;
  saving_low_ns: number;
  saving_high_ns: number;
  function: string;
  origin: string | null;
  is_driver: boolean;
  attempts: number;
  own_ns: number;
  predicted_ns: number;
  share: number;
}
/**
 * A function's attempts, the quantiles of their ``duration_ns`` and of their peak memory (bytes), and the
 * sums of their times (ns).
 */
export interface FunctionItem {
  func_name: string | null;
  type: string | null;
  origin: string | null;
  operator: string | null;
  attempts: number;
  finished: number;
  failed: number;
  stopped_by_libraries: number;
  running: number;
  p50_ns: number | null;
  p95_ns: number | null;
  max_ns: number | null;
  p50_memory: number | null;
  p95_memory: number | null;
  max_memory: number | null;
  duration_ns: number;
  waiting_ns: number;
  total_ns: number;
}
/** A function's share of the critical path of a replay. */
export interface FunctionOnPath {
  function: string;
  is_driver: boolean;
  total_ns: number;
  by_phase: {
    [k: string]: number;
  };
  share: number;
}
/** A function of a job or actor: its attempts by state, and the sums of their times (ns). */
export interface FunctionProgress {
  func_name: string | null;
  type: string | null;
  attempts: number;
  duration_ns: number;
  waiting_ns: number;
  total_ns: number;
  states: {
    [k: string]: number;
  };
  stopped_by_libraries: number;
}
/** Where the time of a function's attempts went, as sums (ns), and where they ran. */
export interface FunctionSchedulingItem {
  waiting_args_ns: number | null;
  waiting_node_ns: number | null;
  starting_worker_ns: number | null;
  queued_ns: number | null;
  loading_ns: number | null;
  fetching_ns: number | null;
  executing_ns: number | null;
  awaiting_ns: number | null;
  blocked_ns: number | null;
  storing_ns: number | null;
  func_name: string | null;
  type: string | null;
  attempts: number;
  total_ns: number;
  waiting_ns: number;
  duration_ns: number;
  cpu_ns: number | null;
  local: number;
  spilled: number;
}
/** The mean times of a function in the runs of a trend, null in a run without it. */
export interface FunctionTrend {
  name: string;
  total_ns: number;
  values_ns: (number | null)[];
  changes: TrendChange[];
}
/**
 * A change of level: the first run after it, and the geometric means before and after. ``p``: the
 * probability of such a step between equal runs. ``has_record``: as in the points.
 */
export interface TrendChange {
  session: string;
  job_id: string;
  has_record: boolean;
  begin_ns: number | null;
  git_commit: string | null;
  before_ns: number;
  after_ns: number;
  ratio: number;
  p: number;
}
/** Functions, those with the longest total duration first. */
export interface FunctionsAnswer {
  session: string;
  items: FunctionItem[];
  hidden: HiddenLibrary[];
}
/** A library whose internals ``only=mine`` hides, with the number of their functions and attempts. */
export interface HiddenLibrary {
  library: string;
  functions: number;
  attempts: number;
}
/** The Gantt chart of a window. */
export interface GanttAnswer {
  session: string;
  by: string;
  origin_ns: number;
  begin_ns: number;
  end_ns: number;
  attempts: number;
  max_memory: number | null;
  resolution_ns: number;
  lanes: GanttLane[];
  lanes_from: number;
  lanes_total: number;
  names: string[];
  states: string[];
  bars: GanttBars;
  memory_shared: number[];
  details: GanttDetails;
  blocked: GanttSpans;
  in_window: number;
  merged: number;
  left_out: number;
  hidden: HiddenLibrary[];
  utilisation: Utilisation | null;
}
/** A worker, node, actor, or function, with figures for the whole extent. */
export interface GanttLane {
  id: string;
  kind: string;
  label: string | null;
  depth: number | null;
  node_id: string | null;
  node_ip: string | null;
  pid: number | null;
  actor_id: string | null;
  class_name: string | null;
  actor_name: string | null;
  functions: string[];
  functions_total: number;
  attempts: number;
  busy_ns: number;
  max_memory: number | null;
  waiting: number;
  rows: number;
  folded: number;
}
/** Bars as columns of equal length. Start and end times are relative to ``origin_ns``. */
export interface GanttBars {
  lane: number[];
  row: number[];
  begin: number[];
  end: number[];
  count: number[];
  busy: number[];
  failed: number[];
  name: number[];
  state: number[];
  task_id: string[];
  attempt: number[];
  peak_memory: (number | null)[];
}
/** Start times of the phases of wide bars, relative to the bar's start. ``bar`` is a bar's index. */
export interface GanttDetails {
  bar: number[];
  created: (number | null)[];
  waiting_node: (number | null)[];
  queued: (number | null)[];
  executing: (number | null)[];
  storing: (number | null)[];
}
/** Periods when the attempts of wide bars were blocked, or awaited something other than objects. */
export interface GanttSpans {
  bar: number[];
  begin: number[];
  end: number[];
  is_awaiting: boolean[];
}
/** The mean number of attempts on workers in buckets of ``bucket_ns``, starting at ``origin_ns``. */
export interface Utilisation {
  bucket_ns: number;
  running: number[];
}
/** A process that uses memory of a GPU, and its worker. */
export interface GpuProcess {
  pid: number;
  memory_bytes: number;
  percent: number | null;
  worker_id: string | null;
  actor_class: string | null;
  actor_id: string | null;
}
/**
 * Objects with the same ``key``, null if it is unknown. Other fields identify a process, if that is the
 * key.
 */
export interface Group {
  objects: number;
  references: number;
  bytes: number;
  unknown_size: number;
  types: {
    [k: string]: number;
  };
  key: string | null;
  is_put?: boolean | null;
  node_id?: string | null;
  pid?: number | null;
  is_driver?: boolean | null;
  actor_id?: string | null;
  job_id?: string | null;
}
/** Whether the server is healthy. All fields except ``status`` and ``version`` require a token. */
export interface HealthAnswer {
  status: 'ok' | 'degraded';
  version: string;
  sessions?: number;
  pending_batches?: number;
  stalled_bodies?: number;
  rejected_batches?: number;
  damaged?: string[];
  archive?: Archive | null;
  warehouse?: Warehouse | null;
  error?: ErrorDetail | null;
}
/** The state of the warehouse, and the error if it cannot be used now. */
export interface Warehouse {
  url: string;
  server: string;
  waiting_rows: number;
  servers: FleetServer[];
  error: ErrorDetail | null;
}
/** One of the largest objects. */
export interface HeldObject {
  object_id: string;
  bytes: number | null;
  function: string | null;
  is_put: boolean | null;
  age_ns: number | null;
  types: string[];
  call_site: string | null;
  holders: ObjectHolder[];
  holders_total: number;
}
/** A process that holds an object. */
export interface ObjectHolder {
  worker_id: string;
  node_id: string;
  pid: number;
  is_driver: boolean;
  actor_id: string | null;
  type: string;
}
/** The newest transitions of a session's alerts. At most ``kept_at_most`` are kept. */
export interface HistoryAnswer {
  session: string;
  items: AlertEvent[];
  total: number;
  kept_at_most: number;
}
/** A matching line, and the attempt that printed it if Ray reported that. */
export interface Hit {
  offset: number;
  length: number;
  text: string;
  time_ns: number | null;
  level: ('debug' | 'info' | 'warning' | 'error' | 'critical') | null;
  is_mark: boolean;
  is_cut: boolean;
  is_whole: boolean;
  styles: LogStyle[];
  node_id: string;
  name: string;
  task_id: string | null;
  attempt: number | null;
  func_name: string | null;
}
/**
 * The style of a range of a line's text (Unicode code points; ``end`` is exclusive), as set by the
 * program.
 */
export interface LogStyle {
  begin: number;
  end: number;
  color: string | null;
  background: string | null;
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
}
/** A line of code, and the memory and allocations of the stacks in which it is. */
export interface HoldingLine {
  file: string;
  line: number;
  function: string;
  self_bytes: number;
  self_allocations: number;
  total_bytes: number;
  total_allocations: number;
}
/** The state of ingestion. ``behind_ns`` is for this session. Batches are counted for all sessions. */
export interface Ingest {
  events: number;
  batches: number;
  pending_batches: number;
  rejected_batches: number;
  unknown: {
    [k: string]: number;
  };
  last_batch_ns: number | null;
  behind_ns: number;
  error: ErrorDetail | null;
}
/** The causes of a job's duration and the changes that would make it faster, the largest savings first. */
export interface InsightsAnswer {
  session: string;
  job_id: string;
  attempts: number;
  so_far: boolean;
  end_ns: number;
  calibration: Calibration;
  withheld: Withheld | null;
  not_recorded: NotRecorded[];
  verdict: Verdict | null;
  causes: ExplainedCause[];
  utilisation: number | null;
  findings: FindingItem[];
  silent: SilentDetector[];
  functions: FunctionGain[];
  functions_total: number;
  options: OptionGain[];
}
/** Why nothing is predicted. */
export interface Withheld {
  code: 'inaccurate' | 'no_driver' | 'not_traced' | 'stuck' | 'takes_long' | 'too_large';
  message: string;
}
/**
 * A reason why the record of a job is incomplete. ``events``: the number of events dropped during the
 * job; null if the reason is that there was no tracer.
 */
export interface NotRecorded {
  code: 'tracer_off' | 'dropped';
  events: number | null;
  message: string;
}
/** The largest cause of the job's duration, and what would help most. */
export interface Verdict {
  saving_ns: number | null;
  saving_low_ns: number | null;
  saving_high_ns: number | null;
  code:
    | 'driver'
    | 'actor'
    | 'actors'
    | 'cluster'
    | 'function'
    | 'awaiting'
    | 'waiting_args'
    | 'waiting_node'
    | 'starting_worker'
    | 'queued'
    | 'loading'
    | 'fetching'
    | 'storing'
    | 'blocked'
    | 'retrying'
    | 'preparing'
    | 'finishing'
    | 'unknown';
  name: string;
  total_ns: number;
  share: number;
  remedy: ('finding' | 'function' | 'option') | null;
  remedy_name: string | null;
  remedy_place: string | null;
  text: string;
  actor: PathActor | null;
}
/** A detector that was skipped for this job, and why. */
export interface SilentDetector {
  kind: string;
  message: string;
}
/** The job's gain from an option that is not about a single function. */
export interface OptionGain {
  saving_ns: number;
  saving_low_ns: number;
  saving_high_ns: number;
  option: 'no_startup' | 'no_stragglers' | 'no_retries' | 'no_transfer' | 'twice_the_cpus';
  predicted_ns: number;
  share: number;
}
/** A driver or submitted job. ``tasks``: the number of its attempts by state. */
export interface Job {
  job_id: string;
  state: string | null;
  type: string | null;
  submission_id: string | null;
  entrypoint: string | null;
  driver_pid: number | null;
  driver_ip: string | null;
  driver_node_id: string | null;
  message: string | null;
  error_type: string | null;
  exit_code: number | null;
  is_internal: boolean;
  alias_of: string | null;
  runtime_env: string | null;
  metadata: string | null;
  start_ns: number | null;
  end_ns: number | null;
  end_known_by: string | null;
  tasks: {
    [k: string]: number;
  };
  stopped_by_libraries: number;
}
/** All fields of a job. */
export interface JobDetail {
  job_id: string;
  state: string | null;
  type: string | null;
  submission_id: string | null;
  entrypoint: string | null;
  driver_pid: number | null;
  driver_ip: string | null;
  driver_node_id: string | null;
  message: string | null;
  error_type: string | null;
  exit_code: number | null;
  is_internal: boolean;
  alias_of: string | null;
  runtime_env: string | null;
  metadata: string | null;
  start_ns: number | null;
  end_ns: number | null;
  end_known_by: string | null;
  tasks: {
    [k: string]: number;
  };
  stopped_by_libraries: number;
  history: {
    [k: string]: unknown;
  }[];
  versions: string | null;
}
/** A page of jobs. */
export interface JobPage {
  next: string | null;
  total: number;
  internal_hidden: number;
  dropped: Dropped;
  items: Job[];
}
/** A job to submit, with the fields of Ray's job API. */
export interface JobRequest {
  /** A shell command. */
  entrypoint: string;
  submission_id?: string | null;
  runtime_env?: {
    [k: string]: unknown;
  } | null;
  metadata?: {
    [k: string]: string;
  } | null;
  entrypoint_num_cpus?: number | null;
  entrypoint_num_gpus?: number | null;
  /** Bytes. */
  entrypoint_memory?: number | null;
  entrypoint_resources?: {
    [k: string]: number;
  } | null;
}
/**
 * Which logs are copied (``workers``, ``all``, ``none``), the size of the copies in bytes, and why
 * copying is paused.
 */
export interface Keeping {
  mode: 'workers' | 'all' | 'none';
  bytes: number;
  max_bytes: number;
  error: ErrorDetail | null;
}
/** The values of a label. */
export interface LabelValuesAnswer {
  session: string;
  items: string[];
  total: number;
}
/** Why some nodes do not use the fast lane. ``node_id`` and ``address``: of one of these nodes. */
export interface LaneReason {
  lane: 'fast' | 'json' | 'none' | 'unknown';
  code: string;
  reason: string | null;
  nodes: number;
  node_id: string;
  address: string | null;
}
/** The number of live nodes by transport: binary, Ray's JSON, none, or unknown. */
export interface Lanes {
  fast: number;
  json: number;
  none: number;
  unknown: number;
  reasons: LaneReason[];
  versions: VersionNote[];
}
/** A version in the cluster that does not match the server. */
export interface VersionNote {
  code: 'other_agent' | 'untested_ray';
  version: string;
  ours: string;
  nodes: number | null;
  message: string;
  remedy: string;
}
/** The newest values. ``total``: number of matching series; ``next``: cursor of the next page. */
export interface LatestAnswer {
  left_out: number;
  problem: ErrorDetail | null;
  note: ErrorDetail | null;
  collectors: CollectorItem[];
  session: string;
  time_ns: number;
  items: LatestItem[];
  next: string | null;
  total: number;
  series: number;
}
/** The newest value of a series that has not ended. */
export interface LatestItem {
  name: string;
  labels: {
    [k: string]: string;
  };
  value: number;
  time_ns: number;
}
/** What Ray keeps of a task that waits for Ray's legacy debugger, to which `ray debug` attaches. */
export interface LegacySession {
  key: string;
  title: string | null;
  address: string | null;
  gcs_address: string;
  traceback: string | null;
  ended_ns: number | null;
}
/** Where the Python code of attempts was, by samples of its stacks. */
export interface LinesAnswer {
  session: string;
  samples: number;
  attempts: number;
  hz: number[];
  first_ns: number | null;
  last_ns: number | null;
  is_enough: boolean;
  missing: ErrorDetail | null;
  phases: SampledPhase[];
  lines: SampledLine[];
  lines_total: number;
  self_lines_total: number;
  frames: StackFrame[];
  frames_total: number;
  reports: number;
  reports_read: number;
}
/** The samples in which the attempts were in a phase, and those of them in which a C library ran. */
export interface SampledPhase {
  phase: 'executing' | 'awaiting' | 'ray.get' | 'ray.wait' | 'ray.put' | 'unpacking' | 'ray';
  samples: number;
  share: number | null;
  points: number | null;
  native_samples: number;
}
/** A line of code. ``self``: it was innermost. ``total``: it was anywhere in the stack. */
export interface SampledLine {
  file: string;
  line: number;
  function: string;
  source: string | null;
  self_samples: number;
  self_share: number | null;
  self_points: number | null;
  native_samples: number;
  total_samples: number;
  total_share: number | null;
  total_points: number | null;
}
/**
 * A frame of the tree of stacks. ``own`` samples end at it, ``value`` also counts those below it.
 * ``points`` are those of ``value``.
 */
export interface StackFrame {
  id: string;
  parent: string | null;
  depth: number;
  kind: 'code' | 'left_out' | 'unknown';
  file: string;
  line: number;
  function: string;
  own: number;
  value: number;
  points: number | null;
  native: number;
}
/**
 * A log file. ``live``: whether its node lists it now. ``kept``: the number of copied bytes. ``size``: in
 * bytes.
 */
export interface LogFile {
  worker_id: string | null;
  job_id: string | null;
  pid: number | null;
  submission_id: string | null;
  actor_id: string | null;
  actor_class: string | null;
  actor_name: string | null;
  functions: string[];
  functions_total: number;
  script: string | null;
  node_id: string;
  name: string;
  kind: string;
  is_empty: boolean;
  size: number | null;
  kept: number;
  live: boolean;
  last_ns: number | null;
}
/**
 * Nodes and files. ``total``: the number of matching files. ``left_out``: how many of them are not
 * listed. ``empty``: the number of matching files into which nothing was printed.
 */
export interface LogFilesAnswer {
  session: string;
  live: boolean;
  nodes: LogNode[];
  files: LogFile[];
  total: number;
  left_out: number;
  empty: number;
  keeping: Keeping;
}
/** A node. ``files``: the number of its known log files, None if they were not requested. */
export interface LogNode {
  node_id: string;
  state: string | null;
  node_ip: string | null;
  hostname: string | null;
  is_head: boolean;
  files: number | null;
  problem: ErrorDetail | null;
}
/**
 * A line. ``level``: its own, or that of the line that it continues. ``is_mark``: it is one of Ray's own
 * marks.
 */
export interface LogLine {
  offset: number;
  length: number;
  text: string;
  time_ns: number | null;
  level: ('debug' | 'info' | 'warning' | 'error' | 'critical') | null;
  is_mark: boolean;
  is_cut: boolean;
  is_whole: boolean;
  styles: LogStyle[];
}
/** Lines of a file. ``next``: ``offset`` of the next page; ``prev``: ``before`` of the previous one. */
export interface LogPage {
  session: string;
  node_id: string;
  name: string;
  kind: string;
  live: boolean;
  problem: ErrorDetail | null;
  kept: number;
  begin: number;
  end: number;
  size: number;
  next: number;
  prev: number | null;
  more: boolean;
  missing: Stretch[];
  lines: LogLine[];
}
/** A range of bytes of a file that is unavailable. */
export interface Stretch {
  begin: number;
  end: number;
}
/** A range of a file that belongs to the requested entity, and its last lines. */
export interface LogPart {
  worker_id: string | null;
  job_id: string | null;
  pid: number | null;
  submission_id: string | null;
  actor_id: string | null;
  actor_class: string | null;
  actor_name: string | null;
  functions: string[];
  functions_total: number;
  script: string | null;
  node_id: string;
  name: string;
  stream: string;
  begin: number;
  end: number | null;
  page: LogPage | null;
  problem: ErrorDetail | null;
}
/** Matching lines, the files that contain them, and the bytes that were not searched. */
export interface LogSearchAnswer {
  session: string;
  items: Hit[];
  files: LogFile[];
  searched: Searched;
  complete: boolean;
  not_searched: NotSearched[];
}
/** The amount of data that was searched. */
export interface Searched {
  files: number;
  of: number;
  bytes: number;
}
/** Bytes that were not searched. The reason is ``gone``, ``long``, ``stopped`` or ``not_kept``. */
export interface NotSearched {
  node_id: string;
  name: string;
  why: string;
  bytes: number;
}
/** A logical graph of at most ``limit`` nodes and edges. */
export interface LogicalAnswer {
  session: string;
  attempts: number;
  nodes: LogicalNode[];
  calls: LogicalCall[];
  data: LogicalData[];
  folded: LogicalFolded;
  libraries: LogicalLibrary[];
  limit: number;
  is_estimated: boolean;
  data_sampled: number;
  data_unnamed: number;
}
/** A function, one of its calls, a driver, an actor class or instance, or a library. */
export interface LogicalNode {
  attempts: number;
  failed: number;
  duration_ns: number;
  executing_ns: number;
  awaiting_ns: number;
  blocked_ns: number;
  output_bytes: number;
  total_p50_ns: number | null;
  total_p95_ns: number | null;
  p50_ns: number | null;
  p95_ns: number | null;
  id: string;
  kind: string;
  name: string | null;
  parent: string | null;
  class_name: string | null;
  actor_id: string | null;
  task_id: string | null;
  job_id: string | null;
  library: string | null;
  actors: number | null;
  is_expanded: boolean;
  states: {
    [k: string]: number;
  };
}
/** Attempts of ``target`` that ``source`` submitted. */
export interface LogicalCall {
  attempts: number;
  failed: number;
  duration_ns: number;
  executing_ns: number;
  awaiting_ns: number;
  blocked_ns: number;
  output_bytes: number;
  total_p50_ns: number | null;
  total_p95_ns: number | null;
  p50_ns: number | null;
  p95_ns: number | null;
  id: string;
  source: string;
  target: string;
}
/** Objects that ``source`` produced and ``target`` consumed, and their bytes. */
export interface LogicalData {
  id: string;
  source: string;
  target: string;
  objects: number;
  bytes: number;
  arguments: number;
  argument_bytes: number;
  gets: number;
  get_bytes: number;
}
/** How many functions, drivers, instances by class, and calls by function have no nodes of their own. */
export interface LogicalFolded {
  functions: number;
  attempts: number;
  duration_ns: number;
  drivers: number;
  instances: {
    [k: string]: number;
  };
  calls: {
    [k: string]: number;
  };
}
/** A library or a library's operator, the number of its functions, and whether they are a single node. */
export interface LogicalLibrary {
  library: string;
  functions: number;
  is_folded: boolean;
}
/** The server's token. The browser gets a cookie for it. */
export interface Login {
  token: string;
}
/**
 * The ranges of files that belong to an entity. ``notes``: codes for anything unexpected about them.
 * ``left_out``: the number of workers that are not listed.
 */
export interface LogsOfAnswer {
  session: string;
  live: boolean;
  parts: LogPart[];
  notes: string[];
  left_out: number;
}
/** A condition on a label. */
export interface Matcher {
  label: string;
  op: '=' | '!=' | '=~' | '!~';
  value: string;
}
/** A condition on a label. */
export interface MatcherBody {
  label: string;
  op?: '=' | '!=' | '=~' | '!~';
  value: string;
}
/**
 * A GPU. ``processes``: bytes of its memory by process ID. ``process_percent``: use of its cores by
 * process ID.
 */
export interface MeasuredGpu {
  index: number;
  name: string;
  uuid: string;
  utilization: number | null;
  memory_used_bytes: number | null;
  memory_total_bytes: number | null;
  power_watts: number | null;
  temperature_c: number | null;
  processes: {
    [k: string]: number;
  };
  process_percent: {
    [k: string]: number;
  };
}
/** A worker of the node with its measurements. */
export interface MeasuredWorker {
  running: number;
  blocked: number;
  attempts: RunningAttempt[];
  gpus: GpuShare[];
  key: string;
  worker_id: string;
  kind: string;
  pid: number | null;
  job_id: string | null;
  start_ns: number | null;
  is_internal: boolean;
  actor_id: string | null;
  actor_class: string | null;
  actor_name: string | null;
  actor_state: string | null;
  functions: number;
  bytes: number;
  reserved: {
    [k: string]: number;
  };
  bundle: number;
  cpu_percent: number | null;
  memory_bytes: number | null;
  gpu_memory_bytes: number | null;
  gpu_percent: number | null;
  num_fds: number | null;
}
/** An attempt on a worker since ``since_ns``, in its situation since ``situation_ns`` (ns). */
export interface RunningAttempt {
  task_id: string;
  attempt: number;
  name: string;
  type: string | null;
  since_ns: number | null;
  situation:
    | 'waiting_args'
    | 'waiting_node'
    | 'starting_worker'
    | 'queued'
    | 'loading'
    | 'fetching'
    | 'running'
    | 'blocked'
    | 'storing'
    | 'ended'
    | 'unknown';
  situation_ns: number | null;
  call: string | null;
  blocked_on: AwaitedFunction[];
  is_traced: boolean;
}
/** An amount of memory in bytes, and the used share of it in percent. */
export interface MemoryAmount {
  total_bytes: number | null;
  used_bytes: number | null;
  available_bytes: number | null;
  percent: number | null;
}
/**
 * The memory held by each group. ``live`` is false if this is the stored reading of an ended cluster.
 * ``totals`` is null if there is no reading.
 */
export interface MemoryAnswer {
  session: string;
  live: boolean;
  time_ns: number | null;
  state: 'whole' | 'being_read';
  nodes_waiting: number;
  nodes: StoreOfNode[];
  references_read: number;
  references_total: number;
  call_sites: boolean;
  by: 'function' | 'type' | 'call_site' | 'process' | 'node' | 'job';
  totals: Sums | null;
  groups: Group[];
  groups_total: number;
  objects: HeldObject[];
  objects_total: number;
  suspects: Suspect[];
}
/** A node's object store, and the ``memory`` of its machine. */
export interface StoreOfNode {
  node_id: string;
  memory: MemoryAmount;
  object_store: MemoryAmount;
  used_bytes: number | null;
  available_bytes: number | null;
  primary_bytes: number | null;
  fallback_bytes: number | null;
  objects: number | null;
  spilled_bytes_total: number | null;
  restored_bytes_total: number | null;
  references: number;
  error: string | null;
  waiting: boolean;
}
/** Objects (each counted once), the references to them, their known bytes, and the references by type. */
export interface Sums {
  objects: number;
  references: number;
  bytes: number;
  unknown_size: number;
  types: {
    [k: string]: number;
  };
}
/** Objects of a function that a process has held for a long time. */
export interface Suspect {
  objects: number;
  references: number;
  bytes: number;
  unknown_size: number;
  types: {
    [k: string]: number;
  };
  function: string | null;
  is_put: boolean;
  node_id: string;
  worker_id: string;
  pid: number;
  oldest_ns: number;
}
/** The lines that hold the memory of a profile, those with the most first. */
export interface MemoryLinesAnswer {
  session: string;
  bytes: number;
  allocations: number;
  lines: HoldingLine[];
  lines_total: number;
  self_lines_total: number;
}
/** A metric of one rank: pairs of column and mean value. */
export interface MetricLine {
  rank: number;
  points: [number, number][];
}
/** A metric's name with its description, its number of series, and the number of values of each label. */
export interface NameItem {
  name: string;
  type: string;
  help: string;
  unit: string;
  series: number;
  labels: {
    [k: string]: number;
  };
}
/** One of Ray's own processes: the raylet, an agent, the GCS. */
export interface NamedProcess {
  cpu_percent: number | null;
  memory_bytes: number | null;
  gpu_memory_bytes: number | null;
  gpu_percent: number | null;
  num_fds: number | null;
  name: string;
  pid: number;
}
/** The matching names of a session's metrics. */
export interface NamesAnswer {
  session: string;
  items: NameItem[];
  total: number;
}
/** A node. ``workers``: the number of its live workers and drivers, without Ray's own. */
export interface Node {
  node_id: string;
  state: string | null;
  node_ip: string | null;
  node_name: string | null;
  hostname: string | null;
  is_head: boolean | null;
  instance_id: string | null;
  instance_type: string | null;
  labels: string | null;
  resources_total: string | null;
  death_reason: string | null;
  death_message: string | null;
  metrics_export_port: number | null;
  dashboard_agent_port: number | null;
  start_ns: number | null;
  end_ns: number | null;
  end_known_by: string | null;
  lane: 'fast' | 'json' | 'none' | 'unknown';
  lane_code: string | null;
  lane_reason: string | null;
  usage: Usage | null;
  usage_missing: string | null;
  usage_remedy: string | null;
  usage_code: string | null;
  usage_params: {
    [k: string]: string | number;
  } | null;
  workers: number | null;
  running: number | null;
}
/** The utilization of a node. ``current``: whether it is alive and has reported within the last 30 s. */
export interface Usage {
  usage_ns: number | null;
  cpu_percent: number | null;
  load_1: number | null;
  mem_percent: number | null;
  mem_used_bytes: number | null;
  mem_total_bytes: number | null;
  disk_percent: number | null;
  disk_used_bytes: number | null;
  disk_total_bytes: number | null;
  disk_read_bytes_s: number | null;
  disk_write_bytes_s: number | null;
  net_sent_bytes_s: number | null;
  net_recv_bytes_s: number | null;
  gpus: number | null;
  gpu_percent: number | null;
  gpu_mem_percent: number | null;
  gpu_mem_used_bytes: number | null;
  gpu_mem_total_bytes: number | null;
  object_store_percent: number | null;
  object_store_used_bytes: number | null;
  object_store_total_bytes: number | null;
  current: boolean;
}
/** One node at ``at_ns``. */
export interface NodeAnswer {
  node: PhysicalNode;
  labels: string | null;
  end_ns: number | null;
  workers: NodeWorker[];
  workers_total: number;
  bundles: PhysicalBundle[];
  session: string;
  at_ns: number | null;
  live: boolean;
  scripts: {
    [k: string]: string;
  };
}
/** A node, its resources, the reserved part of them, and the sums of everything on it. */
export interface PhysicalNode {
  node_id: string;
  name: string;
  node_ip: string | null;
  is_head: boolean;
  is_known: boolean;
  start_ns: number | null;
  total: {
    [k: string]: number;
  } | null;
  used: {
    [k: string]: number;
  };
  internal: number;
  workers: number;
  actors: number;
  running: number;
  blocked: number;
  bytes: number;
  left_out: number;
}
/** All fields of a worker of a node. */
export interface NodeWorker {
  running: number;
  blocked: number;
  attempts: RunningAttempt[];
  gpus: GpuShare[];
  key: string;
  worker_id: string;
  kind: string;
  pid: number | null;
  job_id: string | null;
  start_ns: number | null;
  is_internal: boolean;
  actor_id: string | null;
  actor_class: string | null;
  actor_name: string | null;
  actor_state: string | null;
  functions: number;
  bytes: number;
  reserved: {
    [k: string]: number;
  };
  bundle: number;
}
/** A bundle of a placement group on a node. ``resources``: null if unknown. */
export interface PhysicalBundle {
  group: string;
  name: string | null;
  index: number;
  node: number;
  resources: {
    [k: string]: number;
  } | null;
}
/** All fields of a node. */
export interface NodeDetail {
  node_id: string;
  state: string | null;
  node_ip: string | null;
  node_name: string | null;
  hostname: string | null;
  is_head: boolean | null;
  instance_id: string | null;
  instance_type: string | null;
  labels: string | null;
  resources_total: string | null;
  death_reason: string | null;
  death_message: string | null;
  metrics_export_port: number | null;
  dashboard_agent_port: number | null;
  start_ns: number | null;
  end_ns: number | null;
  end_known_by: string | null;
  lane: 'fast' | 'json' | 'none' | 'unknown';
  lane_code: string | null;
  lane_reason: string | null;
  usage: Usage | null;
  usage_missing: string | null;
  usage_remedy: string | null;
  usage_code: string | null;
  usage_params: {
    [k: string]: string | number;
  } | null;
  measured: NodeMeasured | null;
  gpus: NodeGpu[];
  processes: NamedProcess[];
  resources: {
    [k: string]: AmountOf;
  } | null;
  is_draining: boolean | null;
  idle_ms: number | null;
  by: ResourceHolder[];
  at_ns: number | null;
  workers: MeasuredWorker[];
  workers_total: number;
  running: number | null;
  bundles: PhysicalBundle[];
  history: {
    [k: string]: unknown;
  }[];
}
/** The complete report of a node at ``time_ns``. ``load``: averages over 1, 5 and 15 minutes. */
export interface NodeMeasured {
  node_id: string;
  time_ns: number;
  hostname: string;
  ip: string;
  cpu_percent: number | null;
  cpus: number | null;
  mem_total_bytes: number | null;
  mem_used_bytes: number | null;
  mem_available_bytes: number | null;
  shm_bytes: number | null;
  swap_total_bytes: number | null;
  swap_used_bytes: number | null;
  load: number[];
  boot_ns: number | null;
  disks: Disk[];
  disk_read_bytes: number | null;
  disk_write_bytes: number | null;
  disk_read_bytes_s: number | null;
  disk_write_bytes_s: number | null;
  disk_read_ops_s: number | null;
  disk_write_ops_s: number | null;
  net_sent_bytes: number | null;
  net_recv_bytes: number | null;
  net_sent_bytes_s: number | null;
  net_recv_bytes_s: number | null;
  gpus: MeasuredGpu[];
  processes: {
    [k: string]: RayProcess;
  };
}
/** One of Ray's own processes, as reported by the node's agent. */
export interface RayProcess {
  pid: number;
  cmdline: string;
  cpu_percent: number;
  rss_bytes: number | null;
  uss_bytes: number | null;
  num_fds: number | null;
  create_ns: number | null;
  gpu_memory_bytes: number | null;
  gpu_percent: number | null;
}
/** A GPU and the processes that use it. */
export interface NodeGpu {
  index: number;
  name: string;
  uuid: string;
  utilization: number | null;
  memory_used_bytes: number | null;
  memory_total_bytes: number | null;
  power_watts: number | null;
  temperature_c: number | null;
  processes: GpuProcess[];
}
/** Holders of resources with the same ``kind`` and ``name``. ``id`` is null if there are several. */
export interface ResourceHolder {
  kind: 'actor' | 'task' | 'placement_group';
  name: string;
  id: string | null;
  count: number;
  resources: {
    [k: string]: number;
  };
}
/** The transport of one node's events. */
export interface NodeLane {
  node_id: string;
  state: string | null;
  address: string | null;
  hostname: string | null;
  lane: 'fast' | 'json' | 'none' | 'unknown';
  lane_code: string | null;
  lane_reason: string | null;
  agent: AgentFigures | null;
}
/** A page of nodes. */
export interface NodePage {
  next: string | null;
  total: number;
  internal_hidden: number;
  dropped: Dropped;
  items: Node[];
}
/** The cluster has ``count`` more nodes like the last one. */
export interface NodesChange {
  kind: 'nodes';
  count: number;
}
/** A function or a class of actors requests ``num_cpus`` CPUs. */
export interface NumCpusChange {
  kind: 'num_cpus';
  function: string;
  num_cpus: number;
}
/** The copies of an object at present, according to its owner. */
export interface ObjectCopies {
  session: string;
  object_id: string;
  owner_id: string | null;
  nodes: string[];
  bytes: number | null;
  is_pending: boolean;
  is_spilled: boolean;
  spilled_node_id: string | null;
  problem: ('not_live' | 'owner_unknown' | 'owner_gone' | 'no_answer' | 'released') | null;
}
/** Loops that get the values of a function one by one get all of them at once. */
export interface OneGetChange {
  kind: 'one_get';
  function: string;
}
/** The session of a file that was opened. */
export interface OpenedSession {
  session: string;
}
/** The operator's token, to be checked. */
export interface OperatorLogin {
  token: string;
}
/** The task that submitted this one. */
export interface Parent {
  task_id: string;
  name: string | null;
  state: string | null;
}
/** A stretch of the critical path of a replay. ``begin_ns``: its start, as time since the job began. */
export interface PathStretch {
  task_id: string | null;
  attempt: number | null;
  function: string;
  is_driver: boolean;
  phase: 'executing' | 'waiting' | 'starting';
  begin_ns: number;
  duration_ns: number;
}
/** The threads of a paused task's process that are stopped. */
export interface PausedStack {
  threads: StoppedThread[];
}
/** A thread that a debugger has stopped, with its frames, innermost first. */
export interface StoppedThread {
  name: string;
  frames: Frame[];
}
/** A task, or a driver, that waits for a debugger or has one attached. */
export interface PausedTask {
  pause_id: string | null;
  state: 'waiting' | 'stopped' | 'running' | 'gone';
  session: string;
  job_id: string | null;
  task_id: string | null;
  attempt: number | null;
  name: string | null;
  func_name: string | null;
  actor_id: string | null;
  worker_id: string;
  node_id: string | null;
  pid: number | null;
  is_driver: boolean;
  function: string | null;
  file: string | null;
  line: number | null;
  error: string | null;
  since_ns: number | null;
  release_ns: number | null;
  debugger: string | null;
  resources: {
    [k: string]: number;
  };
  waiters: number;
  legacy: LegacySession | null;
}
/** The tasks of a session that wait for a debugger, the longest wait first. */
export interface PausedTasks {
  session: string;
  is_enabled: boolean;
  limit_s: number | null;
  legacy_error: ErrorDetail | null;
  legacy_left_out: number;
  items: PausedTask[];
}
/** A holder of a scarce resource: a running task (with its ``attempt``), an actor or a placement group. */
export interface PendingHolder {
  kind: 'actor' | 'task' | 'placement_group';
  name: string;
  id: string;
  attempt: number | null;
  amount: number;
  since_ns: number | null;
}
/** A pending request: ``count`` similar tasks or actors, or one placement group. */
export interface PendingItem {
  kind: 'actor' | 'task' | 'placement_group';
  name: string;
  id: string | null;
  job_id: string | null;
  count: number;
  since_ns: number | null;
  state: string;
  resources: {
    [k: string]: number;
  };
  bundles:
    | {
        [k: string]: number;
      }[]
    | null;
  strategy: string | null;
  runtime_env: string | null;
  reason: ReasonItem;
  holders: PendingHolder[];
  holders_left_out: number;
}
/** Why a request is pending (docs/reference/nodes.md explains the codes). */
export interface ReasonItem {
  code: string;
  never: boolean;
  message: string;
  resource: string | null;
  wanted: number | null;
  total: number | null;
  free: number | null;
  node_id: string | null;
  nodes: number;
  error: string | null;
  remedy: string;
}
/** The contents of the nodes at ``at_ns``. */
export interface PhysicalAnswer {
  nodes: PhysicalNodes;
  workers: PhysicalWorkers;
  bundles: PhysicalBundles;
  kinds: string[];
  jobs: string[];
  classes: string[];
  states: string[];
  functions: string[];
  reserved: {
    [k: string]: number;
  }[];
  values: string[];
  nodes_total: number;
  workers_total: number;
  bundles_total: number;
  groups: PhysicalGroup[];
  amounts: {
    [k: string]: number;
  }[];
  session: string;
  at_ns: number | null;
  live: boolean;
  scripts: {
    [k: string]: string;
  };
  workers_left_out: number;
  annotations: string[];
  measured: Measured | null;
}
/** Nodes as columns of equal length. ``total`` and ``used`` are indexes into ``amounts``, or -1. */
export interface PhysicalNodes {
  node_id: string[];
  name: string[];
  is_head: boolean[];
  workers: number[];
  internal: number[];
  running: number[];
  node_ip: (string | null)[];
  is_known: boolean[];
  start_ns: (number | null)[];
  total: number[];
  used: number[];
  actors: number[];
  blocked: number[];
  bytes: number[];
  left_out: number[];
}
/** Workers as columns of equal length. Values are indexes into the response's lists, -1 if unknown. */
export interface PhysicalWorkers {
  key: string[];
  node: number[];
  is_internal: boolean[];
  kind: number[];
  pid: number[];
  actor_class: number[];
  function: number[];
  running: number[];
  job: number[];
  actor_state: number[];
  blocked: number[];
  reserved: number[];
  bundle: number[];
  bytes: number[];
  annotation: number[];
}
/** Bundles as columns of indexes into ``groups``, the nodes, and ``amounts`` (-1 if unknown). */
export interface PhysicalBundles {
  group: number[];
  index: number[];
  node: number[];
  resources: number[];
}
/** A placement group of the answer's bundles. */
export interface PhysicalGroup {
  placement_group_id: string;
  name: string | null;
}
/** A placement group. */
export interface PlacementGroup {
  placement_group_id: string;
  state: string | null;
  name: string | null;
  strategy: string | null;
  job_id: string | null;
  creator_actor_id: string | null;
  is_detached: boolean | null;
  bundles: string | null;
  stats: string | null;
  created_ns: number | null;
  end_known_by: string | null;
}
/** All fields of a placement group. */
export interface PlacementGroupDetail {
  placement_group_id: string;
  state: string | null;
  name: string | null;
  strategy: string | null;
  job_id: string | null;
  creator_actor_id: string | null;
  is_detached: boolean | null;
  bundles: string | null;
  stats: string | null;
  created_ns: number | null;
  end_known_by: string | null;
  history: {
    [k: string]: unknown;
  }[];
}
/** A page of placement groups. */
export interface PlacementGroupPage {
  next: string | null;
  total: number;
  internal_hidden: number;
  dropped: Dropped;
  items: PlacementGroup[];
}
/** One alert, without the silences that match it. Times that do not apply are 0. */
export interface PlainAlert {
  fingerprint: string;
  rule: string;
  labels: {
    [k: string]: string;
  };
  annotations: {
    [k: string]: string;
  };
  state: 'pending' | 'firing' | 'resolved' | 'ended';
  value: number | null;
  active_ns: number;
  fired_ns: number;
  resolved_ns: number;
  keep_ns: number;
  ack: AckInfo | null;
  condition: string;
  profile: AlertProfile | null;
}
/**
 * No attempt takes longer than usual for its function, or no time is spent on starting workers, on
 * fetching values, or on failed attempts that were retried.
 */
export interface PlainChange {
  kind: 'no_stragglers' | 'no_startup' | 'no_transfer' | 'no_retries';
}
/** The profile that was started. It has samples once it is no longer running in the list. */
export interface ProfileAnswer {
  session: string;
  profile: ProfileItem;
}
/** A profile of the workers that ran attempts matching ``filters``. ``memory``: null for CPU profiles. */
export interface ProfileItem {
  profile_id: string;
  is_running: boolean;
  filters: {
    [k: string]: string | number;
  };
  memory: ('peak' | 'leaks') | null;
  begin_ns: number;
  end_ns: number;
  workers: ProfiledWorker[];
  workers_left_out: number;
  stacks: StackGroup[];
  taken_by: string | null;
}
/** How a worker was profiled. */
export interface ProfiledWorker {
  worker_id: string;
  node_id: string;
  pid: number;
  rank: number | null;
  tool: ('py-spy' | 'tracer' | 'memray') | null;
  hz: number | null;
  samples: number;
  native: boolean;
  taken: number | null;
  expected: number | null;
  held_bytes: number | null;
  seconds: number | null;
  problem: ErrorDetail | null;
}
/** Workers with the same most frequent stack. */
export interface StackGroup {
  phase: 'executing' | 'awaiting' | 'ray.get' | 'ray.wait' | 'ray.put' | 'unpacking' | 'ray';
  frames: string[];
  frames_left_out: number;
  share: number;
  worker_ids: string[];
}
/** How long to profile, and whether to include frames of C and C++, or to profile memory instead. */
export interface ProfileRequest {
  seconds?: number;
  native?: boolean;
  memory?: ('peak' | 'leaks') | null;
}
/** The profiles of a session, the newest first. */
export interface ProfilesAnswer {
  session: string;
  items: ProfileItem[];
}
/** All attempts of a job or actor by state, and by function. */
export interface Progress {
  id: string;
  attempts: number;
  states: {
    [k: string]: number;
  };
  stopped_by_libraries: number;
  functions: FunctionProgress[];
  rest: RestProgress;
}
/** Totals over all functions beyond the first 100. */
export interface RestProgress {
  functions: number;
  attempts: number;
  states: {
    [k: string]: number;
  };
  stopped_by_libraries: number;
}
/**
 * ``share``: the share of a job's answer that is finished, 0 to 1; null if no long-running request
 * computes it.
 */
export interface ProgressAnswer {
  share: number | null;
}
/** One series of an expression, with a value for each of the answer's times. */
export interface QueriedSeries {
  labels: {
    [k: string]: string;
  };
  values: (number | null)[];
}
/** Values from ``since_ns`` to ``until_ns``. */
export interface QueryAnswer {
  session: string;
  expr: string;
  since_ns: number;
  until_ns: number;
  step_ns: number;
  times_ms: number[];
  series: QueriedSeries[];
  left_out: number;
  next: string | null;
  warnings: ErrorDetail[];
  source: 'record' | 'prometheus';
  unit: string;
}
/** The statistics of a time range. */
export interface RangeAnswer {
  session: string;
  by: string;
  since_ns: number;
  until_ns: number;
  attempts: number;
  states: {
    [k: string]: number;
  };
  phases: {
    [k: string]: number;
  };
  busy_ns: number;
  running: RangeRunning;
  functions: RangeFunction[];
  functions_total: number;
  functions_left_out_ns: number;
  lanes: RangeLane[];
  lanes_total: number;
  lanes_left_out_ns: number;
}
/** How many attempts were on workers at the same time: the mean and the maximum. */
export interface RangeRunning {
  mean: number;
  most: number | null;
}
/** A function's attempts, clipped to the range. */
export interface RangeFunction {
  name: string;
  attempts: number;
  failed: number;
  executing_ns: number;
  awaiting_ns: number;
  blocked_ns: number;
  busy_ns: number;
  max_memory: number | null;
  mean: number;
}
/** A worker, node, actor, or function, with figures for the range. */
export interface RangeLane {
  id: string;
  kind: string;
  label: string | null;
  depth: number | null;
  node_id: string | null;
  node_ip: string | null;
  pid: number | null;
  actor_id: string | null;
  class_name: string | null;
  actor_name: string | null;
  functions: string[];
  functions_total: number;
  attempts: number;
  busy_ns: number;
  max_memory: number | null;
  rows: number | null;
  share: number | null;
}
/** A rank's times over all steps. */
export interface RankTimes {
  rank: number;
  steps: number;
  own_ns: number | null;
  data_ns: number | null;
  report_ns: number;
  straggles: number;
  p50_ns: number | null;
  max_ns: number | null;
}
/** How a session is recorded. */
export interface RecordingAnswer {
  session: string;
  recording: 'events' | 'snapshot' | 'events+snapshot';
  events: number;
  batches: number;
  spans: number;
  lanes: Lanes;
  nodes: NodeLane[];
  nodes_total: number;
  tracing: Tracing;
  dropped: Dropped;
  snapshots: Snapshots;
  cannot_see: string[];
}
/**
 * The numbers of traced and untraced workers among those that ran tasks, and of tasks that only the
 * tracer saw.
 */
export interface Tracing {
  traced: number;
  untraced: number;
  said: TracerSaid[];
  summed_calls: number;
  tasks_without_events: number;
  without_events: WithoutEvents[];
}
/** A state of tracers other than just "on", and the number of tracers in this state. */
export interface TracerSaid {
  text: string;
  workers: number;
}
/** Tasks that are not recorded because their events are disabled. ``class_name`` is null for functions. */
export interface WithoutEvents {
  class_name: string | null;
  tasks: number;
}
/** The state of reading snapshots from the GCS. ``tasks_from``: the service in which tasks were found. */
export interface Snapshots {
  ok: boolean;
  error: string | null;
  remedy: string | null;
  tasks: boolean;
  tasks_from: ('gcs' | 'dashboard') | null;
  cost_s: number;
  interval_s: number | null;
  last_ns: number | null;
  last_tasks_ns: number | null;
}
/** A metric reported by workers. ``not_finite_step``: the first step in which it was NaN or infinite. */
export interface ReportedMetric {
  name: string;
  not_finite_step: number | null;
  not_finite_rank: number | null;
  lines: MetricLine[];
}
/** A rule that the operator adds or replaces. */
export interface RuleBody {
  expr: string;
  for_s?: number;
  keep_firing_for_s?: number;
  labels?: {
    [k: string]: string;
  };
  annotations?: {
    [k: string]: string;
  };
}
/** The rule that was added or replaced. ``warnings``: what may keep it from ever firing. */
export interface RuleChanged {
  name: string;
  warnings: ErrorDetail[];
}
/** A rule. The alert's value is that of ``value_expr``, which is compared with ``threshold``. */
export interface RuleDefinition {
  name: string;
  group: string;
  source: string;
  severity: string;
  expr: string;
  value_expr: string | null;
  op: string | null;
  threshold: number | null;
  interval_s: number;
  for_s: number;
  keep_firing_for_s: number;
  labels: {
    [k: string]: string;
  };
  annotations: {
    [k: string]: string;
  };
}
/** A rule and its state in the session. ``value_expr`` is compared with ``threshold``. */
export interface RuleInfo {
  name: string;
  group: string;
  source: string;
  severity: string;
  expr: string;
  value_expr: string | null;
  op: string | null;
  threshold: number | null;
  interval_s: number;
  for_s: number;
  keep_firing_for_s: number;
  labels: {
    [k: string]: string;
  };
  annotations: {
    [k: string]: string;
  };
  state: 'inactive' | 'pending' | 'firing' | 'resolved' | 'ended';
  alerts: number;
  error: string | null;
  template_error: string | null;
  problems: ErrorDetail[];
  unknown_metrics: string[];
  cost_s: number | null;
  enabled: boolean;
}
/** All rules, including those that are switched off. ``session`` is null if nothing is recorded. */
export interface RulesAnswer {
  session: string | null;
  items: RuleInfo[];
  problems: FileProblem[];
  folder: string;
}
/** A run with its functions, those with the most time first. */
export interface RunAnswer {
  run: RunItem;
  functions: RunFunction[];
  functions_left_out: number;
}
/** A run: a job of a session that has ended. It outlives the record of the session. */
export interface RunItem {
  session: string;
  job_id: string;
  script: string;
  variant: string;
  name: string;
  tags: string[];
  metadata: {
    [k: string]: string;
  };
  baseline: boolean;
  left_out: boolean;
  cluster: string | null;
  nodes: number;
  begin_ns: number | null;
  end_ns: number | null;
  duration_ns: number | null;
  outcome: string;
  tasks: number;
  attempts: number;
  failed: number;
  cpu_ns: number | null;
  gpu_ns: number | null;
  peak_memory: number | null;
  ray_version: string | null;
  git_commit: string | null;
  traced: boolean;
  recording: string;
  dropped: number;
  has_record: boolean;
  verdict: 'slower' | 'as_usual' | 'faster' | 'unknown';
  reason: ('few_runs' | 'outcome' | 'left_out' | 'no_script' | 'no_duration') | null;
  ratio: number | null;
  usual: UsualRange | null;
  comparable: number;
}
/**
 * The geometric mean of ``runs`` earlier runs, and the range in which an equal run lies with a
 * probability of 99 %.
 */
export interface UsualRange {
  runs: number;
  mid_ns: number;
  low_ns: number;
  high_ns: number;
}
/** A function in a run. Its times are those of execution without waits. */
export interface RunFunction {
  name: string;
  module: string | null;
  attempts: number;
  failed: number;
  mean_ns: number | null;
  p50_ns: number | null;
  p95_ns: number | null;
  total_ns: number;
  cpu_ns: number | null;
}
/** The runs with one script and variant. ``newest_ns``: when the newest one began. */
export interface RunGroup {
  script: string;
  variant: string;
  runs: number;
  newest_ns: number | null;
}
/** Marks of a run that an operator sets. Omitted fields stay unchanged. */
export interface RunMarks {
  /** Replace those of the session. */
  tags?: string[] | null;
  /** Compare the other runs of its group with it. */
  baseline?: boolean | null;
  /** Do not compare other runs with it. */
  left_out?: boolean | null;
}
/**
 * A page of runs. ``groups``: all groups among the matching runs, those with the most runs first, 200 at
 * most. ``pending``: ended sessions whose runs are not summarized yet.
 */
export interface RunPage {
  items: RunItem[];
  next: string | null;
  total: number;
  groups: RunGroup[];
  pending: number;
}
/** A function's callers and callees. */
export interface SandwichAnswer {
  session: string;
  weight: 'executing' | 'awaiting' | 'duration' | 'cpu' | 'count' | 'bytes' | 'memory_time' | 'critical_path';
  of: string;
  own: number;
  value: number;
  attempts: number;
  total: number;
  levels: number;
  callers: FlameTree;
  callees: FlameTree;
  libraries: FoldedLibrary[];
}
/** Functions, those with the most total time first. */
export interface SchedulingAnswer {
  session: string;
  items: FunctionSchedulingItem[];
}
/** Where the time of an attempt went (ns). */
export interface SchedulingItem {
  waiting_args_ns: number | null;
  waiting_node_ns: number | null;
  starting_worker_ns: number | null;
  queued_ns: number | null;
  loading_ns: number | null;
  fetching_ns: number | null;
  executing_ns: number | null;
  awaiting_ns: number | null;
  blocked_ns: number | null;
  storing_ns: number | null;
  task_id: string;
  attempt: number;
  func_name: string | null;
  type: string | null;
  state: string | null;
  job_id: string | null;
  total_ns: number | null;
  node_id: string | null;
  cpu_ns: number | null;
  submitter_node_id: string | null;
  is_local: boolean | null;
  waiting_ns: number | null;
  duration_ns: number | null;
}
/** A single application. */
export interface ServeApplicationAnswer {
  name: string;
  state: string | null;
  last_state: string | null;
  since_ns: number | null;
  end_ns: number | null;
  end_known_by: 'session' | null;
  message: string | null;
  route_prefix: string | null;
  docs_path: string | null;
  source: string | null;
  deployed_ns: number | null;
  deployments: ServeDeployment[];
  config: {
    [k: string]: unknown;
  } | null;
  history: ServeChange[];
  replicas: ServeReplica[];
  replicas_total: number;
  edges: ServeCalls[];
  session: string;
}
/** A deployment with its configuration. */
export interface ServeDeployment {
  deployment_id: string;
  name: string;
  application: string;
  state: string | null;
  last_state: string | null;
  since_ns: number | null;
  end_ns: number | null;
  end_known_by: 'session' | null;
  status_trigger: string | null;
  message: string | null;
  target_replicas: number | null;
  running_replicas: number;
  replicas: {
    [k: string]: number;
  };
  is_ingress: boolean | null;
  calls: string[] | null;
  required_resources: {
    [k: string]: unknown;
  } | null;
  config: {
    [k: string]: unknown;
  } | null;
  autoscaling: {
    [k: string]: unknown;
  } | null;
  history: ServeChange[];
}
/** A change of state, when it was observed, and the reason in Serve's words. */
export interface ServeChange {
  time_ns: number;
  state: string;
  trigger: string | null;
  reason: string | null;
}
/** A replica. */
export interface ServeReplica {
  replica_id: string;
  name: string;
  application: string;
  deployment: string;
  state: string | null;
  actor_id: string | null;
  node_id: string | null;
  node_ip: string | null;
  worker_id: string | null;
  pid: number | null;
  log_file: string | null;
  start_ns: number | null;
  end_ns: number | null;
  end_known_by: 'session' | null;
  death_reason: string | null;
  death_cause: string | null;
  start_error: string | null;
}
/** Calls from one deployment to another, both given by ID, as counted by the tracer. */
export interface ServeCalls {
  caller: string;
  callee: string;
  calls: number;
  errors: number;
  p50_ns: number | null;
  p95_ns: number | null;
  p99_ns: number | null;
}
/** An application with its deployments. ``name`` identifies it. Times as in ServeDeploymentItem. */
export interface ServeApplicationItem {
  name: string;
  state: string | null;
  last_state: string | null;
  since_ns: number | null;
  end_ns: number | null;
  end_known_by: 'session' | null;
  message: string | null;
  route_prefix: string | null;
  docs_path: string | null;
  source: string | null;
  deployed_ns: number | null;
  deployments: ServeDeploymentItem[];
}
/** A deployment. */
export interface ServeDeploymentItem {
  deployment_id: string;
  name: string;
  application: string;
  state: string | null;
  last_state: string | null;
  since_ns: number | null;
  end_ns: number | null;
  end_known_by: 'session' | null;
  status_trigger: string | null;
  message: string | null;
  target_replicas: number | null;
  running_replicas: number;
  replicas: {
    [k: string]: number;
  };
  is_ingress: boolean | null;
  calls: string[] | null;
}
/**
 * A controller. ``health``: how well it keeps up, to two significant digits. The names are Serve's; those
 * of times end in the unit (s, ms).
 */
export interface ServeController {
  state: string | null;
  last_state: string | null;
  since_ns: number | null;
  end_ns: number | null;
  end_known_by: 'session' | null;
  node_ip: string | null;
  worker_id: string | null;
  log_file: string | null;
  history: ServeChange[];
  actor_id: string;
  node_id: string | null;
  start_ns: number | null;
  proxy_location: string | null;
  http_options: {
    [k: string]: unknown;
  } | null;
  grpc_options: {
    [k: string]: unknown;
  } | null;
  health: {
    [k: string]: number;
  } | null;
}
/** The state of Serve in a session. ``problem``: why the data may be out of date. */
export interface ServePage {
  session: string;
  total: number;
  problem: ErrorDetail | null;
  items: ServeApplicationItem[];
  proxies: ServeProxy[];
  controllers: ServeController[];
}
/** The proxy of a node. */
export interface ServeProxy {
  state: string | null;
  last_state: string | null;
  since_ns: number | null;
  end_ns: number | null;
  end_known_by: 'session' | null;
  node_ip: string | null;
  worker_id: string | null;
  log_file: string | null;
  history: ServeChange[];
  node_id: string;
  actor_id: string | null;
}
/** A request. */
export interface ServeRequest {
  request: string;
  request_id: string;
  time_ns: number;
  total_ns: number;
  proxy_ns: number | null;
  queue_ns: number | null;
  replica_ns: number | null;
  downstream_ns: number | null;
  route: string;
  method: string;
  status: string;
  failed: boolean;
  error: string | null;
  traceparent: string | null;
  deployments: string[];
  steps: ServeRequestStep[];
}
/** A part of a request: in the proxy (``deployment`` is None), or a call of a deployment. */
export interface ServeRequestStep {
  application: string;
  deployment: string | null;
  depth: number;
  begin_ns: number;
  end_ns: number;
  queue_ns: number | null;
  replica_ns: number | null;
  downstream_ns: number | null;
  call_count: number;
  method: string | null;
  status: string | null;
  failed: boolean;
  error: string | null;
  actor_id: string | null;
  node_id: string | null;
  log_file: string | null;
}
/** Slow and failed requests of an application, and the number of them in the record. */
export interface ServeRequestPage {
  session: string;
  items: ServeRequest[];
  total: number;
  left_out: number;
}
/** The session whose record was deleted. */
export interface SessionDeleted {
  session: string;
}
/**
 * A Ray session. ``name``: set by the operator, or else the first job's ``script`` and the number of
 * further jobs.
 */
export interface SessionItem {
  session: string;
  name: string | null;
  script: string | null;
  host: string | null;
  note: string;
  tags: string[];
  recording: 'events' | 'snapshot' | 'events+snapshot';
  state: 'live' | 'ended' | 'unreadable';
  outcome: string | null;
  slower: SlowerJob | null;
  error: string | null;
  problem: ErrorDetail | null;
  first_ns: number;
  last_ns: number;
  tasks: number;
  attempts: number;
  states: {
    [k: string]: number;
  };
  stopped_by_libraries: number;
  actors: number;
  nodes: number;
  jobs: number;
  disk_bytes: number;
  location: 'local' | 'both' | 'archive' | 'warehouse';
  ray_version: string | null;
  gcs_address: string | null;
  dropped_total: number;
}
/**
 * A job that took longer than usual. ``ratio``: its duration by the usual one. ``script`` and
 * ``variant``: the group of its run.
 */
export interface SlowerJob {
  script: string;
  variant: string;
  ratio: number;
  usual: UsualTime;
}
/** The geometric mean of the durations of ``runs`` earlier runs, ns. */
export interface UsualTime {
  runs: number;
  mid_ns: number;
}
/** The operator's name and notes for a session. Omitted fields stay unchanged; "" removes the name. */
export interface SessionLabel {
  name?: string | null;
  note?: string | null;
  tags?: string[] | null;
}
/** A page of sessions. ``ray_dashboard``: whether the server can show them in Ray's own dashboard. */
export interface SessionPage {
  items: SessionItem[];
  next: string | null;
  total: number;
  ray_dashboard: boolean;
  dropped: Dropped;
}
/** Requests of one shape that the nodes report as pending. */
export interface Shape {
  resources: {
    [k: string]: number;
  };
  ready: number;
  infeasible: number;
  backlog: number;
  label_selectors: {
    [k: string]: string;
  }[];
}
/** A new silence. It begins now or at ``starts_ns``, and lasts for ``duration_s``. */
export interface SilenceBody {
  matchers: MatcherBody[];
  duration_s: number;
  starts_ns?: number | null;
  created_by: string;
  comment?: string;
}
/** A silence and its state. */
export interface SilenceInfo {
  id: string;
  matchers: Matcher[];
  starts_ns: number;
  ends_ns: number;
  created_by: string;
  comment: string;
  state: 'active' | 'pending' | 'expired';
}
/** All silences that are active, scheduled, or ended within five days. */
export interface SilencesAnswer {
  items: SilenceInfo[];
}
/** Lines of the file of a frame, the first of which has the number ``first``. */
export interface SourceLines {
  file: string | null;
  first: number;
  lines: string[];
}
/** Ask for the source around the line of a frame. */
export interface SourceRequest {
  frame_id: number;
}
/** A measured span of time inside an attempt. */
export interface SpanItem {
  name: string;
  attempt: number;
  begin_ns: number;
  end_ns: number | null;
  extra: string | null;
  blocked_on: string[] | null;
}
/** A function runs ``times`` times as fast; below 1, it is slower. ``driver`` stands for the driver. */
export interface SpeedChange {
  kind: 'speed';
  function: string;
  times: number;
}
/** The rows of a SQL query on the record as of ``snapshot_ns``. */
export interface SqlAnswer {
  columns: [string, string][];
  rows: unknown[][];
  truncated: boolean;
  elapsed_ns: number;
  snapshot_ns: number;
}
/** A single SELECT on the documented views. */
export interface SqlQuestion {
  sql: string;
  session?: string | null;
  limit?: number;
}
/** The attempts in flight at ``at_ns``, and their waits. */
export interface StackAnswer {
  session: string;
  at_ns: number | null;
  live: boolean;
  in_flight: number;
  left_out: number;
  callers_left_out: boolean;
  nodes: StackNode[];
  folded_nodes: number;
  chains: StackLink[][];
}
/** Attempts of one function in one situation under the same chain of callers. */
export interface StackNode {
  id: string;
  parent: string | null;
  depth: number;
  name: string;
  type: string | null;
  situation:
    | 'waiting_args'
    | 'waiting_node'
    | 'starting_worker'
    | 'queued'
    | 'loading'
    | 'fetching'
    | 'running'
    | 'blocked'
    | 'storing'
    | 'ended'
    | 'unknown';
  count: number;
  others: number;
  total: number;
  oldest_ns: number | null;
  newest_ns: number | null;
  deepest: number;
  awaited: boolean;
  examples: StackExample[];
  blocked_on: StackBlockedOn[];
  folded_nodes: number;
  folded_count: number;
}
/** One attempt of a node: where it runs, and the time since which it has been in its situation. */
export interface StackExample {
  since_ns: number;
  task_id: string;
  attempt: number;
  node_id: string | null;
  worker_pid: number | null;
}
/** A target of the waits of a node's attempts. ``count`` is the number of (waiter, target) pairs. */
export interface StackBlockedOn {
  node: string;
  name: string;
  type: string | null;
  situation:
    | 'waiting_args'
    | 'waiting_node'
    | 'starting_worker'
    | 'queued'
    | 'loading'
    | 'fetching'
    | 'running'
    | 'blocked'
    | 'storing'
    | 'ended'
    | 'unknown';
  count: number;
  examples: string[];
}
/** One step of a chain of waits. ``count``: the attempts of its node. */
export interface StackLink {
  node: string;
  name: string;
  type: string | null;
  situation:
    | 'waiting_args'
    | 'waiting_node'
    | 'starting_worker'
    | 'queued'
    | 'loading'
    | 'fetching'
    | 'running'
    | 'blocked'
    | 'storing'
    | 'ended'
    | 'unknown';
  count: number;
}
/** The resources of the cluster, their holders, and pending requests. ``error``: why these are unknown. */
export interface StatusAnswer {
  session: string;
  live: boolean;
  time_ns: number | null;
  error: string | null;
  remedy: string | null;
  error_code: string | null;
  error_params: {
    [k: string]: string | number;
  } | null;
  resources: {
    [k: string]: AmountOf;
  };
  by: ResourceHolder[];
  by_left_out: number;
  pending: PendingItem[];
  pending_left_out: number;
  shapes: Shape[];
  autoscaler: AutoscalerStatus | null;
}
/** A rank's times in one column, which stands for one or several steps. */
export interface StepCell {
  rank: number;
  steps: number;
  own_ns: number | null;
  data_ns: number | null;
  report_ns: number;
  straggles: number;
  column: number;
}
/** Whether the job was still running. */
export interface Stopped {
  stopped: boolean;
}
/** The submission ID of the new job. */
export interface Submitted {
  submission_id: string;
}
/** A session at a glance. */
export interface Summary {
  session: string;
  recording: 'events' | 'snapshot' | 'events+snapshot';
  tasks: number;
  attempts: number;
  states: {
    [k: string]: number;
  };
  stopped_by_libraries: number;
  first_ns: number | null;
  last_ns: number | null;
  functions: FunctionItem[];
  failures: FailureItem[];
  dropped: Dropped;
  lanes: Lanes;
  tracing: Tracing;
  ingest: Ingest;
  cannot_see: string[];
}
/** All fields of a task. ``waits_for``: the tasks that create its missing arguments. */
export interface TaskDetail {
  task_id: string;
  attempts: AttemptDetail[];
  parent: Parent | null;
  call_path: string[];
  children: TaskItem[];
  children_total: number;
  spans: SpanItem[];
  spans_total: number;
  data_in: EdgeItem[];
  data_in_total: number;
  data_in_bytes: number;
  data_out: EdgeItem[];
  data_out_total: number;
  data_out_bytes: number;
  annotations: AnnotationItem[];
  scheduling: SchedulingItem[];
  waits_for: AwaitedTask[];
}
/** One attempt of a task. ``peak_memory`` and ``start_memory`` (bytes) are those of its process. */
export interface TaskItem {
  gpu_scope: ('own' | 'process' | 'shared' | 'unsupported' | 'mig' | 'unmeasured') | null;
  gpu_busy_ns: number | null;
  gpu_measured_ns: number | null;
  gpu_held_ns: number | null;
  gpu_memory_peak_bytes: number | null;
  task_id: string;
  attempt: number;
  name: string | null;
  func_name: string | null;
  type: string | null;
  state: string;
  reported_state: string;
  end_known_by: string | null;
  job_id: string | null;
  actor_id: string | null;
  parent_task_id: string | null;
  caller_task_id: string | null;
  node_id: string | null;
  worker_id: string | null;
  worker_pid: number | null;
  placement_group_id: string | null;
  error_type: string | null;
  error_message: string | null;
  error_summary: string | null;
  created_ns: number | null;
  start_ns: number | null;
  end_ns: number | null;
  cpu_ns: number | null;
  peak_memory: number | null;
  start_memory: number | null;
  memory_scope: ('own' | 'shared' | 'off' | 'unavailable') | null;
  duration_ns: number | null;
  waiting_ns: number | null;
  total_ns: number | null;
}
/** A page of task attempts. */
export interface TaskPage {
  items: TaskItem[];
  next: string | null;
  total: number;
  dropped: Dropped;
}
/** When the tested rule's alerts would have changed their state. */
export interface TestAnswer {
  evaluations: number;
  fired: number;
  transitions: TestedTransition[];
  left_out: number;
  firing_at_end: PlainAlert[];
  session: string;
  rule: RuleDefinition;
  since_ns: number;
  until_ns: number;
}
/** An alert's change of state in a tested rule. */
export interface TestedTransition {
  time_ns: number;
  before: 'inactive' | 'pending' | 'firing' | 'resolved' | 'ended';
  after: 'inactive' | 'pending' | 'firing' | 'resolved' | 'ended';
  labels: {
    [k: string]: string;
  };
  annotations: {
    [k: string]: string;
  };
  value: number | null;
}
/** A rule to evaluate on recorded series: its name, or the text of a file with one rule. */
export interface TestBody {
  session?: string | null;
  rule?: string | null;
  yaml?: string | null;
  since_ns?: number | null;
  until_ns?: number | null;
}
/** The current state of a session's topic. ``data`` contains the topic's own fields. */
export interface TopicState {
  topic: string;
  session: string;
  params: {
    [k: string]: string;
  };
  kind: string;
  seq: number;
  time_ns: number;
  data: {
    [k: string]: unknown;
  };
}
/** An attempt of a run: a group of workers. ``reports``: the largest number of reports by one worker. */
export interface TrainAttempt {
  attempt_id: string;
  state: string | null;
  status_detail: string | null;
  start_ns: number | null;
  end_ns: number | null;
  end_known_by: ('job' | 'session') | null;
  worker_count: number;
  reports: number;
}
/** A checkpoint, and how many ranks reported it. ``path``: the path reported by the first of them. */
export interface TrainCheckpoint {
  step: number;
  rank: number;
  ranks: number;
  path: string;
  time_ns: number;
  report_ns: number;
}
/** A single training run, with the workers of one of its attempts and their reports. */
export interface TrainRunAnswer {
  run_id: string;
  name: string | null;
  state: string | null;
  status_detail: string | null;
  job_id: string | null;
  entrypoint: string | null;
  start_ns: number | null;
  end_ns: number | null;
  end_known_by: ('job' | 'session') | null;
  attempt_count: number;
  failed_attempts: number;
  worker_count: number;
  controller_actor_id: string | null;
  controller_log_file: string | null;
  controller_node_id: string | null;
  settings: {
    [k: string]: string;
  };
  session: string;
  attempts: TrainAttempt[];
  attempt_id: string | null;
  workers: TrainWorker[];
  steps: number;
  bucket: number;
  cells: StepCell[];
  ranks: RankTimes[];
  shown_ranks: number;
  metrics: ReportedMetric[];
  checkpoints: TrainCheckpoint[];
  reports_left_out: number;
}
/** A worker of an attempt. */
export interface TrainWorker {
  train_worker_id: string;
  state: string | null;
  world_rank: number | null;
  local_rank: number | null;
  node_rank: number | null;
  actor_id: string | null;
  node_id: string | null;
  node_ip: string | null;
  pid: number | null;
  gpus: number[];
  log_file: string | null;
  reporting_since_ns: number | null;
}
/** A training run. ``end_known_by``: ``job`` or ``session`` if the end is inferred. */
export interface TrainRunItem {
  run_id: string;
  name: string | null;
  state: string | null;
  status_detail: string | null;
  job_id: string | null;
  entrypoint: string | null;
  start_ns: number | null;
  end_ns: number | null;
  end_known_by: ('job' | 'session') | null;
  attempt_count: number;
  failed_attempts: number;
  worker_count: number;
}
/** The training runs of a session, newest first. ``problem``: why some may be missing or out of date. */
export interface TrainRunPage {
  session: string;
  total: number;
  problem: ErrorDetail | null;
  items: TrainRunItem[];
}
/** Objects produced on ``source`` and consumed on ``target``. */
export interface TransferPair {
  source: string;
  target: string;
  objects: number;
  bytes: number;
  unsized: number;
}
/** Transfers between nodes in a time range. */
export interface TransfersAnswer {
  session: string;
  since_ns: number | null;
  until_ns: number;
  pairs: TransferPair[];
  pairs_total: number;
  objects: number;
  bytes: number;
  sampled: number;
}
/**
 * The trend of a group, the oldest run first. ``usual``: the range by which the next run
 * is judged.
 */
export interface TrendAnswer {
  script: string;
  variant: string;
  function: string | null;
  points: TrendPoint[];
  runs_left_out: number;
  usual: UsualRange | null;
  changes: TrendChange[];
  baseline_ns: number | null;
  functions: FunctionTrend[];
}
/**
 * A run in a trend. ``value_ns``: its duration, or the mean time of the function. ``counts``: whether it
 * decides what is usual. ``has_record``: whether the record of the session still exists.
 */
export interface TrendPoint {
  session: string;
  job_id: string;
  has_record: boolean;
  name: string;
  begin_ns: number | null;
  value_ns: number | null;
  counts: boolean;
  outcome: string;
  tags: string[];
  git_commit: string | null;
  baseline: boolean;
  verdict: 'slower' | 'as_usual' | 'faster' | 'unknown';
  ratio: number | null;
}
/** A single experiment with its trials, sorted by ID. */
export interface TuneExperimentAnswer {
  experiment_id: string;
  name: string | null;
  state: string | null;
  path: string | null;
  job_id: string | null;
  entrypoint: string | null;
  metric: string | null;
  mode: ('min' | 'max') | null;
  scheduler: string | null;
  search_algorithm: string | null;
  num_samples: number | null;
  is_restored: boolean;
  start_ns: number | null;
  end_ns: number | null;
  end_known_by: ('job' | 'session') | null;
  trial_count: number;
  trial_states: {
    [k: string]: number;
  };
  stopped_early: number;
  results: number;
  best_trial_id: string | null;
  best_value: number | null;
  session: string;
  restored_from: string | null;
  trials: TuneTrial[];
  trials_left_out: number;
  parameters: TuneParameter[];
  metrics: string[];
  shown_metric: string | null;
  shown_mode: ('min' | 'max') | null;
  shown_best_trial_id: string | null;
  iterations: number;
  bucket: number;
  lines: TuneLine[];
  lines_left_out: number;
  results_left_out: number;
}
/** A trial. */
export interface TuneTrial {
  trial_id: string;
  name: string | null;
  state: string | null;
  end_reason: ('finished' | 'criterion' | 'early') | null;
  parameters: {
    [k: string]: string | number | boolean;
  };
  metrics: {
    [k: string]: string | number;
  };
  iterations: number | null;
  time_total_s: number | null;
  value: number | null;
  best_value: number | null;
  best_iteration: number | null;
  results: number;
  checkpoints: number;
  failures: number;
  error: string | null;
  path: string | null;
  actor_id: string | null;
  earlier_actor_ids: string[];
  node_id: string | null;
  start_ns: number | null;
  end_ns: number | null;
}
/** A parameter of an experiment's trials, and the number of its different values. */
export interface TuneParameter {
  name: string;
  is_number: boolean;
  varies: boolean;
  values: number;
}
/** The metric of one trial: pairs of iteration and value. */
export interface TuneLine {
  trial_id: string;
  points: [number, number][];
}
/** An experiment: one ``Tuner.fit()``. ``end_known_by``: ``job`` or ``session`` if the end is inferred. */
export interface TuneExperimentItem {
  experiment_id: string;
  name: string | null;
  state: string | null;
  path: string | null;
  job_id: string | null;
  entrypoint: string | null;
  metric: string | null;
  mode: ('min' | 'max') | null;
  scheduler: string | null;
  search_algorithm: string | null;
  num_samples: number | null;
  is_restored: boolean;
  start_ns: number | null;
  end_ns: number | null;
  end_known_by: ('job' | 'session') | null;
  trial_count: number;
  trial_states: {
    [k: string]: number;
  };
  stopped_early: number;
  results: number;
  best_trial_id: string | null;
  best_value: number | null;
}
/** The experiments of a session, newest first. ``problem``: why some may be missing. */
export interface TuneExperimentPage {
  session: string;
  total: number;
  problem: ErrorDetail | null;
  items: TuneExperimentItem[];
}
/** A variable. ``reference``: for its parts, 0 if it has none. */
export interface Variable {
  name: string;
  value: string;
  type: string | null;
  reference: number;
}
/** Variables of a frame, or parts of a variable. ``left_out``: how many more there are. */
export interface Variables {
  items: Variable[];
  left_out: number;
}
/** Ask for the variables of a frame, or for the parts of a variable. */
export interface VariablesRequest {
  frame_id?: number | null;
  reference?: number | null;
}
/** The predicted duration of a job with changes. ``baseline_ns``: how long it took until ``end_ns``. */
export interface WhatIfAnswer {
  saving_ns: number | null;
  saving_low_ns: number | null;
  saving_high_ns: number | null;
  session: string;
  job_id: string;
  attempts: number;
  so_far: boolean;
  end_ns: number;
  calibration: Calibration;
  withheld: Withheld | null;
  baseline_ns: number;
  predicted_ns: number | null;
  speedup: number | null;
  utilisation_before: number | null;
  utilisation: number | null;
  path: PathStretch[];
  functions: FunctionOnPath[];
}
/** Changes to replay together, in a job of a session (default: the longest job that ran tasks). */
export interface WhatIfBody {
  session?: string | null;
  job_id?: string | null;
  changes: (
    | SpeedChange
    | CpusChange
    | NodesChange
    | ActorsChange
    | PlainChange
    | NumCpusChange
    | OneGetChange
    | BatchChange
  )[];
}
/** A worker process: what users know it by, its current activity, and its measurements. */
export interface Worker {
  worker_id: string;
  state: string | null;
  worker_type: string | null;
  node_id: string | null;
  pid: number | null;
  ip: string | null;
  job_id: string | null;
  exit_type: string | null;
  exit_detail: string | null;
  launch_ns: number | null;
  start_ns: number | null;
  end_ns: number | null;
  end_known_by: string | null;
  tracer: string | null;
  death_memory_bytes: number | null;
  paused_threads: number | null;
  is_internal: boolean;
  actor_class: string | null;
  actor_name: string | null;
  functions: string[];
  functions_total: number;
  script: string | null;
  cpu_percent: number | null;
  memory_bytes: number | null;
  gpu_memory_bytes: number | null;
  gpu_percent: number | null;
  num_fds: number | null;
  running: number;
  blocked: number;
  attempts: RunningAttempt[];
  gpus: GpuShare[];
}
/** All fields of a worker. */
export interface WorkerDetail {
  worker_id: string;
  state: string | null;
  worker_type: string | null;
  node_id: string | null;
  pid: number | null;
  ip: string | null;
  job_id: string | null;
  exit_type: string | null;
  exit_detail: string | null;
  launch_ns: number | null;
  start_ns: number | null;
  end_ns: number | null;
  end_known_by: string | null;
  tracer: string | null;
  death_memory_bytes: number | null;
  paused_threads: number | null;
  is_internal: boolean;
  actor_class: string | null;
  actor_name: string | null;
  functions: string[];
  functions_total: number;
  script: string | null;
  cpu_percent: number | null;
  memory_bytes: number | null;
  gpu_memory_bytes: number | null;
  gpu_percent: number | null;
  num_fds: number | null;
  running: number;
  blocked: number;
  attempts: RunningAttempt[];
  gpus: GpuShare[];
  history: {
    [k: string]: unknown;
  }[];
}
/** A page of workers. */
export interface WorkerPage {
  next: string | null;
  total: number;
  internal_hidden: number;
  dropped: Dropped;
  items: Worker[];
}
export type FilterName =
  | 'actor_id'
  | 'annotation'
  | 'caller_task_id'
  | 'error_type'
  | 'func_name'
  | 'job_id'
  | 'name'
  | 'node_id'
  | 'only'
  | 'parent_task_id'
  | 'placement_group_id'
  | 'q'
  | 'session'
  | 'since_ns'
  | 'state'
  | 'type'
  | 'until_ns'
  | 'worker_id';
export type EntityFilterName = 'class_name' | 'limit' | 'session';
/** The answers and parameters of the paths that the UI requests, without their prefix. */
export interface Paths {
  '/actors': {
    answer: ActorPage;
    params:
      | EntityFilterName
      | 'actor_id'
      | 'at_least'
      | 'cursor'
      | 'internal'
      | 'job_id'
      | 'name'
      | 'node_id'
      | 'q'
      | 'since_ns'
      | 'sort'
      | 'state'
      | 'type'
      | 'until_ns'
      | 'worker_id';
  };
  '/actors/{actor_id}': { answer: ActorDetail; params: 'actor_id' | 'session' };
  '/actors/{actor_id}/progress': { answer: Progress; params: 'actor_id' | 'session' };
  '/alerts': { answer: AlertsAnswer; params: 'session' };
  '/alerts/channels': { answer: ChannelsAnswer; params: never };
  '/alerts/history': { answer: HistoryAnswer; params: 'limit' | 'rule' | 'session' };
  '/alerts/rules': { answer: RulesAnswer; params: 'session' };
  '/alerts/silences': { answer: SilencesAnswer; params: never };
  '/cluster': { answer: ClusterAnswer; params: 'session' };
  '/cluster/status': { answer: StatusAnswer; params: 'session' };
  '/compare': { answer: CompareAnswer; params: 'a' | 'b' | 'functions_by' | 'margin' | 'skip_first' };
  '/compare/findings': { answer: ComparedFindings; params: 'a' | 'b' };
  '/compare/lines': { answer: ComparedLines; params: 'a' | 'b' | 'function' | 'renamed_from' };
  '/crashes': { answer: CrashesAnswer; params: 'limit' | 'session' };
  '/dashboards': { answer: DashboardsAnswer; params: never };
  '/dashboards/{name}': { answer: Dashboard; params: 'name' };
  '/data': { answer: DatasetPage; params: 'limit' | 'session' };
  '/data/{dataset_id}': { answer: DatasetAnswer; params: 'dataset_id' | 'session' };
  '/deaths': { answer: DeathsAnswer; params: EntityFilterName | 'id' | 'kind' };
  '/events': {
    answer: EventsAnswer;
    params:
      | 'cursor'
      | 'job_id'
      | 'kind'
      | 'limit'
      | 'node_id'
      | 'q'
      | 'session'
      | 'severity'
      | 'since_ns'
      | 'until_ns';
  };
  '/failures': { answer: FailuresAnswer; params: FilterName | 'limit' | 'outcome' | 'stopped' };
  '/find': { answer: FindAnswer; params: 'limit' | 'q' | 'session' };
  '/flow/activity': { answer: ActivityAnswer; params: FilterName | 'buckets' };
  '/flow/critical-path': { answer: CriticalPathAnswer; params: 'job_id' | 'session' };
  '/flow/flame': {
    answer: FlameAnswer | SandwichAnswer;
    params:
      | FilterName
      | 'baseline_job_id'
      | 'baseline_rest'
      | 'baseline_since_ns'
      | 'baseline_until_ns'
      | 'focus'
      | 'of'
      | 'weight';
  };
  '/flow/gantt': {
    answer: GanttAnswer;
    params: FilterName | 'by' | 'lanes' | 'lanes_from' | 'levels' | 'overview' | 'width';
  };
  '/flow/logical': { answer: LogicalAnswer; params: FilterName | 'expand' | 'fold' | 'unfold' };
  '/flow/physical': {
    answer: PhysicalAnswer;
    params: FilterName | 'annotation_name' | 'at_ns' | 'with_bytes';
  };
  '/flow/physical/node': { answer: NodeAnswer; params: FilterName | 'at_ns' | 'on_node' };
  '/flow/range': { answer: RangeAnswer; params: FilterName | 'by' | 'levels' };
  '/flow/stack': { answer: StackAnswer; params: FilterName | 'at_ns' };
  '/flow/transfers': { answer: TransfersAnswer; params: 'session' | 'span_ns' | 'until_ns' };
  '/functions': { answer: FunctionsAnswer; params: FilterName | 'limit' };
  '/insights': { answer: InsightsAnswer; params: 'job_id' | 'long' | 'session' };
  '/insights/progress': { answer: ProgressAnswer; params: 'job_id' | 'session' };
  '/jobs': {
    answer: JobPage;
    params:
      | EntityFilterName
      | 'actor_id'
      | 'at_least'
      | 'cursor'
      | 'internal'
      | 'job_id'
      | 'name'
      | 'node_id'
      | 'q'
      | 'since_ns'
      | 'sort'
      | 'state'
      | 'type'
      | 'until_ns'
      | 'worker_id';
  };
  '/jobs/{job_id}': { answer: JobDetail; params: 'job_id' | 'session' };
  '/jobs/{job_id}/progress': { answer: Progress; params: 'job_id' | 'session' };
  '/lines': { answer: LinesAnswer; params: FilterName | 'attempt' | 'profile' | 'task_id' };
  '/logs': { answer: LogFilesAnswer; params: 'hide_empty' | 'kind' | 'limit' | 'node_id' | 'q' | 'session' };
  '/logs/file': {
    answer: LogPage;
    params:
      | 'before'
      | 'begin'
      | 'case'
      | 'end'
      | 'level'
      | 'limit'
      | 'name'
      | 'node_id'
      | 'offset'
      | 'q'
      | 'regex'
      | 'session'
      | 'since_ns'
      | 'until_ns';
  };
  '/logs/of': {
    answer: LogsOfAnswer;
    params: 'actor_id' | 'attempt' | 'job_id' | 'limit' | 'session' | 'task_id' | 'worker_id';
  };
  '/logs/search': {
    answer: LogSearchAnswer;
    params:
      | 'case'
      | 'kind'
      | 'level'
      | 'limit'
      | 'node_id'
      | 'q'
      | 'regex'
      | 'session'
      | 'since_ns'
      | 'until_ns';
  };
  '/memory': {
    answer: MemoryAnswer;
    params: 'by' | 'job_id' | 'node_id' | 'older_than_s' | 'session' | 'type';
  };
  '/memory-lines': { answer: MemoryLinesAnswer; params: 'profile' | 'session' };
  '/memory/objects/{object_id}': { answer: ObjectCopies; params: 'object_id' | 'session' };
  '/metrics': {
    answer: LatestAnswer;
    params: 'collector' | 'cursor' | 'label' | 'limit' | 'name' | 'session';
  };
  '/metrics/charts': { answer: ChartsAnswer; params: never };
  '/metrics/label-values': { answer: LabelValuesAnswer; params: 'label' | 'limit' | 'name' | 'session' };
  '/metrics/names': { answer: NamesAnswer; params: 'q' | 'session' };
  '/metrics/query': {
    answer: QueryAnswer;
    params: 'collector' | 'cursor' | 'expr' | 'limit' | 'session' | 'since_ns' | 'step_ns' | 'until_ns';
  };
  '/nodes': {
    answer: NodePage;
    params:
      | EntityFilterName
      | 'actor_id'
      | 'at_least'
      | 'cursor'
      | 'internal'
      | 'job_id'
      | 'name'
      | 'node_id'
      | 'q'
      | 'since_ns'
      | 'sort'
      | 'state'
      | 'type'
      | 'until_ns'
      | 'worker_id';
  };
  '/nodes/cells': { answer: CellsAnswer; params: 'session' };
  '/nodes/{node_id}': { answer: NodeDetail; params: 'node_id' | 'session' };
  '/paused-tasks': { answer: PausedTasks; params: 'session' };
  '/placement-groups': {
    answer: PlacementGroupPage;
    params:
      | EntityFilterName
      | 'actor_id'
      | 'at_least'
      | 'cursor'
      | 'internal'
      | 'job_id'
      | 'name'
      | 'node_id'
      | 'q'
      | 'since_ns'
      | 'sort'
      | 'state'
      | 'type'
      | 'until_ns'
      | 'worker_id';
  };
  '/placement-groups/{placement_group_id}': {
    answer: PlacementGroupDetail;
    params: 'placement_group_id' | 'session';
  };
  '/profiles': { answer: ProfilesAnswer; params: 'session' };
  '/prometheus/sd': { answer: DiscoveredTarget; params: never };
  '/realtime': { answer: TopicState; params: 'job_id' | 'session' | 'topic' };
  '/recording': { answer: RecordingAnswer; params: 'session' };
  '/runs': {
    answer: RunPage;
    params:
      | 'cluster'
      | 'cursor'
      | 'in_session'
      | 'limit'
      | 'outcome'
      | 'q'
      | 'script'
      | 'since_ns'
      | 'sort'
      | 'tag'
      | 'until_ns'
      | 'variant'
      | 'verdict';
  };
  '/runs/trend': { answer: TrendAnswer; params: 'function' | 'limit' | 'script' | 'variant' };
  '/runs/{session}/{job_id}': { answer: RunAnswer; params: 'job_id' | 'session' };
  '/scheduling': {
    answer: SchedulingAnswer;
    params: 'job_id' | 'limit' | 'session' | 'since_ns' | 'until_ns';
  };
  '/serve': { answer: ServePage; params: 'limit' | 'session' };
  '/serve-requests/{application}': {
    answer: ServeRequestPage;
    params: 'application' | 'limit' | 'order' | 'session';
  };
  '/serve/{application}': { answer: ServeApplicationAnswer; params: 'application' | 'session' };
  '/sessions': { answer: SessionPage; params: 'cursor' | 'limit' | 'name' | 'q' };
  '/summary': { answer: Summary; params: 'session' };
  '/tasks': { answer: TaskPage; params: FilterName | 'cursor' | 'limit' | 'sort' };
  '/tasks/{task_id}': { answer: TaskDetail; params: 'session' | 'task_id' };
  '/train': { answer: TrainRunPage; params: 'limit' | 'session' };
  '/train/{run_id}': { answer: TrainRunAnswer; params: 'attempt' | 'run_id' | 'session' };
  '/tune': { answer: TuneExperimentPage; params: 'limit' | 'session' };
  '/tune/{experiment_id}': {
    answer: TuneExperimentAnswer;
    params: 'experiment_id' | 'metric' | 'mode' | 'session';
  };
  '/workers': {
    answer: WorkerPage;
    params:
      | EntityFilterName
      | 'actor_id'
      | 'at_least'
      | 'cursor'
      | 'internal'
      | 'job_id'
      | 'name'
      | 'node_id'
      | 'q'
      | 'since_ns'
      | 'sort'
      | 'state'
      | 'type'
      | 'until_ns'
      | 'worker_id';
  };
  '/workers/{worker_id}': { answer: WorkerDetail; params: 'session' | 'worker_id' };
}
