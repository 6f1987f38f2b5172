import type { TFunction } from 'i18next';
import type { NodeWorker } from '../../api/schema';
import { amount, shortId } from '../../base/format';

/** The display name of a worker. `plain` is used for a worker that runs nothing. */
export function workerName(
  t: TFunction,
  worker: NodeWorker,
  scripts: Record<string, string>,
  plain: string,
): string {
  if (worker.is_internal) return [t('internal.process'), worker.actor_class].filter(Boolean).join(' · ');
  const script = scripts[worker.job_id ?? ''];
  if (worker.kind === 'DRIVER') return script ? t('stack.driverOf', { script }) : t('stack.driver');
  const [first] = worker.attempts;
  return worker.actor_class ?? (first ? first.name || shortId(first.task_id) : plain);
}

/** `2 CPU, 1 GPU`. */
export function resourceText(resources: Record<string, number>): string {
  return Object.entries(resources)
    .map(([name, value]) => `${amount(name, value)} ${name}`)
    .join(', ');
}
