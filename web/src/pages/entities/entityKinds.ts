import type { EntityView, FilterName } from '../../base/url';

/** All kinds of entities except nodes, which have a page of their own. */
export type EntityKind = Exclude<EntityView, 'nodes'>;

/**
 * For each kind: the path of its list, its id, the columns to show first, the order, and the filter for its
 * tasks.
 */
export const KINDS: Record<
  EntityKind,
  {
    path: '/actors' | '/workers' | '/jobs' | '/placement-groups';
    id: 'actor_id' | 'worker_id' | 'job_id' | 'placement_group_id';
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
  jobs: {
    path: '/jobs',
    id: 'job_id',
    first: ['state', 'entrypoint', 'tasks', 'start_ns', 'duration', 'message', 'job_id', 'submission_id'],
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

/** Fields that are not shown by themselves but as part of another field. */
export const PARTS = new Set([
  'actor_class',
  'actor_name',
  'functions',
  'functions_total',
  'script',
  'attempts',
  'blocked',
  'gpu_busy_ns',
  'gpu_measured_ns',
  'gpu_held_ns',
  'gpu_memory_peak_bytes',
  'gpu_scope',
]);
