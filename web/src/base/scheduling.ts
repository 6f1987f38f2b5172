/** Where the time of an attempt goes, in order. */
export const SCHEDULING_PHASES = [
  'waiting_args',
  'waiting_node',
  'starting_worker',
  'queued',
  'loading',
  'fetching',
  'executing',
  'blocked',
  'storing',
] as const;

export type SchedulingPhase = (typeof SCHEDULING_PHASES)[number];

/** The Ray state whose colour stands for each. */
export const PHASE_STATES: Record<SchedulingPhase, string> = {
  waiting_args: 'PENDING_ARGS_AVAIL',
  waiting_node: 'PENDING_NODE_ASSIGNMENT',
  starting_worker: 'PENDING_OBJ_STORE_MEM_AVAIL',
  queued: 'SUBMITTED_TO_WORKER',
  loading: 'PENDING_ACTOR_TASK_ORDERING_OR_CONCURRENCY',
  fetching: 'GETTING_AND_PINNING_ARGS',
  executing: 'RUNNING',
  blocked: 'RUNNING_IN_RAY_GET',
  storing: 'FINISHED',
};
