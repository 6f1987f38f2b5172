import { useMutation, useQuery } from '@tanstack/react-query';
import { get, post } from '../../api/client';
import { refreshInterval } from '../../api/connection';
import type { FramesAnswer } from '../../api/schema';
import { isDriver } from '../../ui/taskColumns';

/** Maximum number of callers that are requested. */
const MAX_CALLERS = 20;
/** How often they are requested again, ms. */
const REFRESH = 10_000;
/** Numbers of digits of the IDs of jobs and workers. */
const JOB_DIGITS = 8;
const WORKER_DIGITS = 56;

export interface Caller {
  task_id: string;
  /** Null until its definition has arrived, and for a driver. */
  name: string | null;
  state: string | null;
  /** Where it runs; null if it has ended, or if that is unknown. */
  worker_id: string | null;
  has_ended: boolean;
}

/** The callers of a task, the outermost first, and whether there are more. */
export function useCallers(session: string, taskId: string | null) {
  return useQuery({
    queryKey: ['callers', session, taskId],
    queryFn: ({ signal }) => climb(session, taskId ?? '', signal),
    enabled: taskId !== null,
    refetchInterval: () => refreshInterval(REFRESH),
  });
}

async function climb(session: string, taskId: string, signal: AbortSignal) {
  const callers: Caller[] = [];
  let { parent } = await get('/tasks/{task_id}', { task_id: taskId, session }, signal);
  while (parent !== null && callers.length < MAX_CALLERS) {
    const { task_id } = parent;
    const caller = await get('/tasks/{task_id}', { task_id, session }, signal);
    const attempt = caller.attempts.at(-1);
    const has_ended = attempt?.end_ns != null;
    callers.unshift({
      task_id,
      name: attempt?.name ?? attempt?.func_name ?? null,
      state: attempt?.state ?? parent.state,
      worker_id: has_ended ? null : (driverWorker(task_id) ?? attempt?.worker_id ?? null),
      has_ended,
    });
    ({ parent } = caller);
  }
  return { callers, isCut: parent !== null };
}

/** The worker ID of a driver: the ID of its job, filled up. Undefined for a task. */
const driverWorker = (taskId: string) =>
  isDriver(taskId) ? taskId.slice(-JOB_DIGITS).padEnd(WORKER_DIGITS, 'f') : undefined;

/** Samples the Python frames of a worker on request. */
export function useWorkerFrames(session: string, workerId: string) {
  return useMutation({
    mutationFn: () => post<FramesAnswer>('/flow/stack/frames', { session, workers: [workerId] }),
  });
}
