/** The answer of /api/memory (docs/memory.md). */
import type { Ns } from '../api/types';

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

export interface Sums {
  objects: number;
  references: number;
  bytes: number;
  unknown_size: number;
  types: Partial<Record<ReferenceType, number>>;
}

export interface Process {
  node_id: string;
  worker_id: string;
  pid: number;
  is_driver: boolean;
  actor_id: string | null;
}

export interface Group extends Sums, Partial<Omit<Process, 'worker_id'>> {
  key: string | null;
  is_put?: boolean;
  job_id?: string | null;
}

export interface HeldObject {
  object_id: string;
  bytes: number | null;
  function: string | null;
  is_put: boolean | null;
  age_ns: Ns | null;
  types: ReferenceType[];
  call_site: string | null;
  holders: (Process & { type: ReferenceType })[];
  holders_total: number;
}

export interface Suspect extends Sums {
  function: string | null;
  is_put: boolean;
  node_id: string;
  worker_id: string;
  pid: number;
  oldest_ns: Ns;
}

export interface Store {
  node_id: string;
  used_bytes: number | null;
  available_bytes: number | null;
  primary_bytes: number | null;
  fallback_bytes: number | null;
  objects: number | null;
  spilled_bytes_total: number | null;
  restored_bytes_total: number | null;
  references: number;
  error: string | null;
  /** It has not answered yet. */
  waiting: boolean;
}

export interface Memory {
  session: string;
  live: boolean;
  /** When what was read first was read. */
  time_ns: Ns | null;
  /** Whether all nodes have answered. */
  state: 'whole' | 'being_read';
  nodes_waiting: number;
  nodes: Store[];
  references_read: number;
  references_total: number;
  call_sites: boolean;
  by: Grouping;
  totals?: Sums;
  groups: Group[];
  groups_total: number;
  objects: HeldObject[];
  objects_total: number;
  suspects: Suspect[];
}
