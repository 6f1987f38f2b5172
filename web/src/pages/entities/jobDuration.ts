import type { Item } from '../../api/types';
import { nanosBetween } from '../../base/format';

const ENDED = new Set(['SUCCEEDED', 'FAILED', 'STOPPED', 'FINISHED', 'CUT_OFF', 'DEAD']);

/** How long a job took or has been running, ns; null if unknown. */
export function jobDuration(job: Item): number | null {
  const end = job.end_ns ?? (ENDED.has(String(job.state)) ? null : Date.now() * 1e6);
  return nanosBetween(job.start_ns, end);
}
