import type { Told } from '../components/told';

/** What the server tells of nodes, and of what the cluster has to give. Bytes, percent, per second. */

export interface NodeUsage {
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
  /** Whether it is of now: the node lives and has told within the last 30 s. */
  current: boolean;
}

export interface NodeRow {
  node_id: string;
  state: string | null;
  node_name: string | null;
  hostname: string | null;
  node_ip: string | null;
  is_head: boolean | null;
  labels: string | null;
  instance_id: string | null;
  instance_type: string | null;
  resources_total: string | null;
  death_reason: string | null;
  death_message: string | null;
  start_ns: number | null;
  end_ns: number | null;
  lane: string;
  lane_code: string | null;
  lane_reason: string | null;
  workers: number | null;
  usage: NodeUsage | null;
  usage_missing: string | null;
  usage_remedy: string | null;
  usage_code: string | null;
  usage_params: Told['params'];
}

/** Why it is not known what a node uses. */
export function missingOf(node: Omit<NodeRow, 'workers'>): Told {
  const { usage_code: code, usage_params: params, usage_remedy: remedy } = node;
  return { code, params, message: node.usage_missing ?? '', remedy };
}

export interface ProcessFigures {
  cpu_percent: number | null;
  memory_bytes: number | null;
  gpu_memory_bytes: number | null;
  gpu_percent: number | null;
  num_fds: number | null;
}

export interface NodeWorker extends ProcessFigures {
  key: string;
  id: string;
  kind: string;
  pid: number | null;
  job_id: string | null;
  start_ns: number | null;
  actor_id: string | null;
  actor_class: string | null;
  actor_name: string | null;
  actor_state: string | null;
  running: number;
  blocked: number;
  reserved: Record<string, number>;
  attempts: { task_id: string; attempt: number; name: string; since_ns: number; is_blocked: boolean }[];
}

export interface Gpu {
  index: number;
  name: string;
  uuid: string;
  utilization: number | null;
  memory_used_bytes: number | null;
  memory_total_bytes: number | null;
  power_watts: number | null;
  temperature_c: number | null;
  processes: {
    pid: number;
    memory_bytes: number;
    percent: number | null;
    worker_id: string | null;
    actor_class: string | null;
    actor_id: string | null;
  }[];
}

export type Amounts = Record<string, { total: number; available: number; used: number }>;

export interface Holder {
  kind: 'actor' | 'task' | 'placement_group';
  name: string;
  id: string | null;
  count: number;
  resources: Record<string, number>;
}

export interface NodeDetail extends Omit<NodeRow, 'workers'> {
  measured: {
    time_ns: number;
    cpus: number | null;
    load: number[];
    boot_ns: number | null;
    shm_bytes: number | null;
    swap_total_bytes: number | null;
    swap_used_bytes: number | null;
    disks: { path: string; total_bytes: number; used_bytes: number; free_bytes: number }[];
  } | null;
  gpus: Gpu[];
  processes: ({ name: string; pid: number } & ProcessFigures)[];
  resources: Amounts | null;
  is_draining: boolean | null;
  by: Holder[];
  at_ns: number | null;
  workers: NodeWorker[];
  workers_total: number;
}

export interface Reason {
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
}

export interface Pending {
  kind: 'task' | 'actor' | 'placement_group';
  name: string;
  id: string | null;
  job_id: string | null;
  count: number;
  since_ns: number | null;
  state: string;
  resources: Record<string, number>;
  bundles: Record<string, number>[] | null;
  strategy: string | null;
  runtime_env: string | null;
  reason: Reason;
}

export interface ClusterStatus {
  session: string;
  live: boolean;
  time_ns: number | null;
  error: string | null;
  remedy: string | null;
  error_code: string | null;
  error_params: Record<string, string | number> | null;
  resources: Amounts;
  by: Holder[];
  by_left_out: number;
  pending: Pending[];
  pending_left_out: number;
  autoscaler: {
    version: number;
    active: Record<string, number>;
    idle: Record<string, number>;
    pending: Record<string, number>;
    failed: [string, string][];
    infeasible: Record<string, number>[];
    time_ns: number | null;
  } | null;
}

/** What cells can be coloured by. */
export const MEASURES = ['cpu', 'memory', 'gpu', 'gpu_memory', 'disk', 'object_store'] as const;
export type Measure = (typeof MEASURES)[number];

export interface Measured {
  nodes: Record<Measure, number[]>;
  time_ns: number | null;
  cpu: number[];
  memory: number[];
  gpu_memory: number[];
  mem_total: number[];
  gpu_mem_total: number[];
  cpus: number[];
}

export interface Cells {
  session: string;
  live: boolean;
  at_ns: number | null;
  nodes: { id: string[]; name: string[]; is_head: boolean[]; workers: number[]; running: number[] };
  workers: {
    key: string[];
    node: number[];
    kind: number[];
    pid: number[];
    actor_class: number[];
    function: number[];
    running: number[];
  };
  kinds: string[];
  classes: string[];
  functions: string[];
  measured: Measured;
  usage_error: string | null;
  usage_remedy: string | null;
  usage_code: string | null;
  usage_params: Told['params'];
  dead: { id: string; name: string | null; end_ns: number | null; death_reason: string | null }[];
  nodes_total: number;
  workers_total: number;
  workers_left_out: number;
}

export const MODES = ['table', 'cards', 'machine', 'resources'] as const;
export type Mode = (typeof MODES)[number];
