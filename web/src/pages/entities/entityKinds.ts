import type { EntityView as EntityViewName, FilterName } from '../../base/url';

/** Per kind: its list, its id, the columns to show first, and the filter that finds its tasks. */
export const KINDS: Record<
  EntityViewName,
  {
    path: '/actors' | '/workers' | '/nodes' | '/jobs' | '/placement-groups';
    id: 'actor_id' | 'worker_id' | 'node_id' | 'job_id' | 'placement_group_id';
    first: string[];
    order: string;
    tasks: FilterName;
  }
> = {
  actors: {
    path: '/actors',
    id: 'actor_id',
    first: [
      'state',
      'class_name',
      'name',
      'actor_id',
      'pid',
      'node_id',
      'job_id',
      'num_restarts',
      'start_ns',
      'end_ns',
    ],
    order: '-start_ns',
    tasks: 'actor_id',
  },
  workers: {
    path: '/workers',
    id: 'worker_id',
    first: [
      'state',
      'name',
      'running',
      'gpus',
      'pid',
      'cpu_percent',
      'memory_bytes',
      'node_id',
      'job_id',
      'start_ns',
      'end_ns',
      'exit_detail',
      'worker_type',
      'worker_id',
    ],
    order: '-start_ns',
    tasks: 'worker_id',
  },
  nodes: {
    path: '/nodes',
    id: 'node_id',
    first: [
      'state',
      'node_name',
      'hostname',
      'node_ip',
      'is_head',
      'node_id',
      'resources_total',
      'lane',
      'start_ns',
      'end_ns',
    ],
    order: '-start_ns',
    tasks: 'node_id',
  },
  jobs: {
    path: '/jobs',
    id: 'job_id',
    first: [
      'state',
      'entrypoint',
      'tasks',
      'start_ns',
      'duration',
      'message',
      'job_id',
      'submission_id',
      'type',
    ],
    order: '-start_ns',
    tasks: 'job_id',
  },
  'placement-groups': {
    path: '/placement-groups',
    id: 'placement_group_id',
    first: [
      'state',
      'name',
      'placement_group_id',
      'strategy',
      'bundles',
      'job_id',
      'is_detached',
      'created_ns',
    ],
    order: '-created_ns',
    tasks: 'placement_group_id',
  },
};

/** Fields that are shown as part of another field. */
export const PARTS = new Set([
  'lane_code',
  'lane_reason',
  'actor_class',
  'actor_name',
  'functions',
  'functions_total',
  'script',
  'attempts',
  'blocked',
]);
