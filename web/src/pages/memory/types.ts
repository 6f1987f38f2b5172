import type { ObjectHolder } from '../../api/schema';

export const GROUPINGS = ['function', 'type', 'call_site', 'process', 'node', 'job'] as const;
export type Grouping = (typeof GROUPINGS)[number];

export const REFERENCE_TYPES = [
  'LOCAL_REFERENCE',
  'PINNED_IN_MEMORY',
  'USED_BY_PENDING_TASK',
  'CAPTURED_IN_OBJECT',
  'ACTOR_HANDLE',
  'UNKNOWN_STATUS',
] as const;
export type ReferenceType = (typeof REFERENCE_TYPES)[number];

export type Process = Omit<ObjectHolder, 'type'>;
