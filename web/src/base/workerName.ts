/** The fields that make up a worker's display name. */
interface WorkerName {
  actor_name: string | null;
  /** Class of the actor: `class_name` in the Gantt chart, `actor_class` in logs. */
  class_name?: string | null;
  actor_class?: string | null;
  functions: readonly string[];
  functions_total: number;
}

/** The name of the worker's actor, or the functions that it ran; '' if neither is known. */
export function workerName(worker: WorkerName): string {
  const actor = worker.actor_name ?? worker.class_name ?? worker.actor_class;
  if (actor) return actor;
  const more = worker.functions_total - worker.functions.length;
  return worker.functions.join(', ') + (more > 0 ? ` +${more}` : '');
}
