import type { Event, JobDetail, Progress } from './schema';

export type { Event as ClusterEvent } from './schema';

export type States = Progress['states'];

export const isRunning = ({ state }: Pick<JobDetail, 'state'>) => state === 'RUNNING' || state === 'PENDING';

/** Whether an ID is that of a job with a driver. A submission without one has its submission ID and no tasks. */
export const isOfDriver = (id: string) => /^[0-9a-f]{8}$/.test(id);

export type Severity = Event['severity'];
export const SEVERITIES = ['ERROR', 'WARNING', 'INFO'] as const satisfies Severity[];
export type EventKind = Event['kind'];
export const EVENT_KINDS = [
  'node',
  'worker',
  'actor',
  'job',
  'placement_group',
  'task',
  'dataset',
  'platform',
  'loss',
] as const satisfies EventKind[];
