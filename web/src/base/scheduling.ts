/** The scheduling phases of an attempt, in order. */
export const SCHEDULING_PHASES = [
  'waiting_args',
  'waiting_node',
  'starting_worker',
  'queued',
  'loading',
  'fetching',
  'executing',
  'awaiting',
  'blocked',
  'storing',
] as const;

export type SchedulingPhase = (typeof SCHEDULING_PHASES)[number];

/** The Ray state whose colour each phase uses. */
export const PHASE_STATES: Record<SchedulingPhase, string> = {
  waiting_args: 'PENDING_ARGS_AVAIL',
  waiting_node: 'PENDING_NODE_ASSIGNMENT',
  starting_worker: 'PENDING_OBJ_STORE_MEM_AVAIL',
  queued: 'SUBMITTED_TO_WORKER',
  loading: 'PENDING_ACTOR_TASK_ORDERING_OR_CONCURRENCY',
  fetching: 'GETTING_AND_PINNING_ARGS',
  executing: 'RUNNING',
  awaiting: 'RUNNING_IN_RAY_WAIT',
  blocked: 'RUNNING_IN_RAY_GET',
  storing: 'FINISHED',
};

/** The parts of a function's total time, in order, with the phases of each. */
export const TIME_PARTS = {
  waitingRest: ['waiting_args', 'waiting_node', 'queued'],
  setup: ['starting_worker', 'loading', 'fetching'],
  executing: ['executing'],
  awaiting: ['awaiting'],
  blocked: ['blocked'],
  storing: ['storing'],
} as const satisfies Record<string, readonly SchedulingPhase[]>;

export type TimePart = keyof typeof TIME_PARTS;

/** Why an attempt has no worker yet, by its state. Attempts in other states have already been scheduled. */
const UNSCHEDULED = {
  PENDING_ARGS_AVAIL: 'waiting_args',
  PENDING_NODE_ASSIGNMENT: 'waiting_node',
} as const;

/** Why an attempt waits, or waited, for a worker; null if it got one or if its state gives no reason. */
export function unscheduled(attempt: { reported_state: string; start_ns: number | null }) {
  if (attempt.start_ns !== null) return null;
  return UNSCHEDULED[attempt.reported_state as keyof typeof UNSCHEDULED] ?? null;
}
