import { amount } from '../../base/format';
import type { PhysicalWorker } from './physical';

export function workerName(worker: PhysicalWorker, driver: string, plain: string, internal: string): string {
  if (worker.is_internal) return [internal, worker.actor_class].filter(Boolean).join(' · ');
  if (worker.kind === 'DRIVER') return driver;
  return worker.actor_class ?? worker.attempts[0]?.name ?? plain;
}

/** `2 CPU, 1 GPU`. */
export function resourceText(resources: Record<string, number>): string {
  return Object.entries(resources)
    .map(([name, value]) => `${amount(name, value)} ${name}`)
    .join(', ');
}
