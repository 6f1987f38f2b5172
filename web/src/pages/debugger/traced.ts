import type { PausedTask } from '../../api/schema';

/** A paused task whose process has a tracer, so that a debugger can attach through the server. */
export type TracedTask = PausedTask & { pause_id: string; task_id: string };

export const isTraced = (task: PausedTask): task is TracedTask =>
  task.pause_id !== null && task.task_id !== null;

/** Identifies a paused task in the list. */
export const keyOf = (task: PausedTask) => task.pause_id ?? `${task.worker_id}:${task.task_id}`;
