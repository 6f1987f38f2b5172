import type { PausedTask } from '../../api/schema';

/** A paused task whose process has a tracer, so that a debugger can attach through the server. */
export type TracedTask = PausedTask & { pause_id: string; task_id: string };

export const isTraced = (task: PausedTask): task is TracedTask =>
  task.pause_id !== null && task.task_id !== null;

/** A task that waits for Ray's legacy debugger. */
export type LegacyTask = PausedTask & { legacy: NonNullable<PausedTask['legacy']> };

export const isLegacy = (task: PausedTask): task is LegacyTask => task.legacy !== null;

/** Identifies a paused task in the list. */
export const keyOf = (task: PausedTask) =>
  task.pause_id ?? task.legacy?.key ?? `${task.worker_id}:${task.task_id}`;
