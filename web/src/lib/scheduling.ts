/** Where the time of an attempt goes, in order. */
export const SCHEDULING_PHASES = [
  'waiting_args',
  'waiting_node',
  'queued',
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
  queued: 'SUBMITTED_TO_WORKER',
  fetching: 'GETTING_AND_PINNING_ARGS',
  executing: 'RUNNING',
  blocked: 'RUNNING_IN_RAY_GET',
  storing: 'FINISHED',
};
