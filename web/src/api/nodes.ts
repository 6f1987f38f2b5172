import type { ServerMessage } from '../base/serverMessage';
import type { NodeDetail, NodePercents, StatusAnswer } from './schema';

export type { Node as NodeRow } from './schema';

export type Amounts = StatusAnswer['resources'];

/** Why a node has no usage measurements. */
export function missingOf(
  node: Pick<NodeDetail, 'usage_missing' | 'usage_remedy' | 'usage_code' | 'usage_params'>,
): ServerMessage {
  const { usage_code: code, usage_params: params, usage_remedy: remedy } = node;
  return { code, params, message: node.usage_missing ?? '', remedy };
}

/** The measurements by which cells can be coloured. */
export type Measure = keyof NodePercents;
export const MEASURES = [
  'cpu',
  'memory',
  'gpu',
  'gpu_memory',
  'disk',
  'object_store',
] as const satisfies Measure[];

export const MODES = ['table', 'cards', 'machine', 'resources'] as const;
export type Mode = (typeof MODES)[number];

/** A node's workers and their number, without Ray's own processes. */
export function usersWorkers<W extends { is_internal: boolean }>(node: {
  workers: readonly W[];
  workers_total: number;
}): { workers: W[]; total: number } {
  const workers = node.workers.filter((worker) => !worker.is_internal);
  return { workers, total: node.workers_total - (node.workers.length - workers.length) };
}
