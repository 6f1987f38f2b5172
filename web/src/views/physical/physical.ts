/** The physical view: the server's answer, and the order of its nodes and workers. */

import type { PhysicalAnswer, PhysicalBundle, PhysicalNode } from '../../api/schema';
import { NONE } from '../../base/grid';

export type Physical = Omit<PhysicalAnswer, 'nodes' | 'bundles' | 'groups' | 'amounts'> & {
  nodes: PhysicalNode[];
  bundles: PhysicalBundle[];
};

/** The server's answer with nodes and bundles as objects. */
export function unpack({ groups, amounts, ...answer }: PhysicalAnswer): Physical {
  const { nodes, bundles, workers } = answer;
  return {
    ...answer,
    nodes: nodes.node_id.map((_, at) => {
      const field = <K extends keyof typeof nodes>(name: K) => nodes[name][at] as (typeof nodes)[K][number];
      return {
        node_id: field('node_id'),
        name: field('name'),
        node_ip: field('node_ip'),
        is_head: field('is_head'),
        is_known: field('is_known'),
        start_ns: field('start_ns'),
        total: amounts[field('total')] ?? null,
        used: amounts[field('used')] ?? {},
        internal: field('internal'),
        workers: field('workers'),
        actors: field('actors'),
        running: field('running'),
        blocked: field('blocked'),
        bytes: field('bytes'),
        left_out: field('left_out'),
      };
    }),
    bundles: bundles.group.map((group, at) => ({
      group: groups[group]?.placement_group_id ?? '',
      name: groups[group]?.name ?? null,
      index: bundles.index[at] ?? NONE,
      node: bundles.node[at] ?? NONE,
      resources: amounts[bundles.resources[at] ?? NONE] ?? null,
    })),
    workers: {
      ...workers,
      annotation: workers.annotation.length > 0 ? workers.annotation : workers.key.map(() => NONE),
    },
  };
}

/** The choices for the size of workers are these and the names of resources. */
export const SIZE_EQUAL = 'equal';
export const SIZE_BYTES = 'bytes';
/**
 * The choices for the colour of workers are these, `m:` and a measurement, `r:` and a resource, and `a:` and
 * the name of an annotation.
 */
export const COLORS = ['function', 'class', 'job'] as const;
export type Color =
  | { by: 'function' }
  | { by: 'class' }
  | { by: 'job' }
  | { by: 'measured'; name: MeasuredName }
  | { by: 'resource'; name: string }
  | { by: 'annotation'; name: string };

/** The measurements by which workers can be coloured. */
export const MEASURED_NAMES = ['cpu', 'memory', 'gpu_memory'] as const;
type MeasuredName = (typeof MEASURED_NAMES)[number];

/** A worker's usage as a share of one core, or of the memory of its node or GPU; null if unknown. */
export function measuredShare(data: Physical, name: MeasuredName, worker: number): number | null {
  const { measured } = data;
  if (measured === null) return null;
  const node = data.workers.node[worker] ?? NONE;
  const used = measured[name][worker] ?? NONE;
  const all =
    name === 'cpu' ? 100 : (measured[name === 'memory' ? 'mem_total' : 'gpu_mem_total'][node] ?? NONE);
  return used < 0 || all <= 0 ? null : used / all;
}

export function parseColor(text: string | undefined): Color {
  const measured = MEASURED_NAMES.find((name) => text === `m:${name}`);
  if (measured !== undefined) return { by: 'measured', name: measured };
  if (text?.startsWith('r:') && text.length > 2) return { by: 'resource', name: text.slice(2) };
  if (text?.startsWith('a:') && text.length > 2) return { by: 'annotation', name: text.slice(2) };
  return { by: COLORS.find((name) => name === text) ?? 'function' };
}

/** A place on a node: a worker or, if `worker` is -1, an empty bundle. */
export interface Slot {
  worker: number;
  bundle: number;
}

/**
 * The slots of each node: workers outside of bundles come first, then those of each bundle. An empty bundle
 * has one slot. Ray's own processes are included only if `withInternal` is set.
 */
export function slotsOf(data: Physical, withInternal = false): Slot[][] {
  const slots: Slot[][] = data.nodes.map(() => []);
  const within = new Map<number, Slot[]>();
  data.workers.node.forEach((node, worker) => {
    if (data.workers.is_internal[worker] && !withInternal) return;
    const bundle = data.workers.bundle[worker] ?? NONE;
    const slot = { worker, bundle };
    if (bundle === NONE) slots[node]?.push(slot);
    else within.set(bundle, [...(within.get(bundle) ?? []), slot]);
  });
  data.bundles.forEach((bundle, at) => {
    slots[bundle.node]?.push(...(within.get(at) ?? [{ worker: NONE, bundle: at }]));
  });
  return slots;
}

/**
 * Indexes of the nodes in drawing order: the server's (the head node, then by name), or the fullest nodes
 * first.
 */
export function orderOf(data: Physical, order: string | undefined): number[] {
  const places = data.nodes.map((_, at) => at);
  if (order !== 'used') return places;
  const share = data.nodes.map((node) => usedShare(node, 'CPU') ?? 0);
  return places.sort((a, b) => {
    const [one, other] = [data.nodes[a], data.nodes[b]];
    return (
      Number(other?.is_head) - Number(one?.is_head) ||
      (share[b] ?? 0) - (share[a] ?? 0) ||
      (other?.running ?? 0) - (one?.running ?? 0) ||
      a - b
    );
  });
}

/** The reserved share of a node's resource; null if the node does not have it or the amount is unknown. */
export function usedShare(node: PhysicalNode, name: string): number | null {
  const total = node.total?.[name];
  return total === undefined || total <= 0 ? null : (node.used[name] ?? 0) / total;
}

/** Names of all resources that a node has or a worker holds, starting with CPU, GPU and memory. */
export function resourcesOf(data: Physical): string[] {
  const first = ['CPU', 'GPU', 'memory'];
  const names = new Set<string>();
  for (const node of data.nodes) for (const name of Object.keys(node.total ?? {})) names.add(name);
  for (const held of data.reserved) for (const name of Object.keys(held)) names.add(name);
  names.delete('object_store_memory');
  const rest = [...names].filter((name) => !first.includes(name)).sort();
  return [...first.filter((name) => name !== 'GPU' || names.has(name)), ...rest];
}

/**
 * The fill level of each worker, 0 to 1, relative to the worker that holds the most. If no worker holds the
 * resource, all levels are 1.
 */
export function fills(data: Physical, size: string): number[] {
  const { reserved, bytes, key } = data.workers;
  if (size === SIZE_EQUAL) return key.map(() => 1);
  const held =
    size === SIZE_BYTES
      ? key.map((_, at) => bytes[at] ?? 0)
      : reserved.map((place) => data.reserved[place]?.[size] ?? 0);
  const most = held.reduce((a, b) => Math.max(a, b), 0);
  return held.map((value) => (most === 0 ? 1 : value / most));
}

/**
 * The values of an annotation as numbers, with their minimum and maximum; null if any of them is not a
 * number.
 */
export function numeric(values: readonly string[]): { of: number[]; least: number; most: number } | null {
  const of = values.map((value) => (value.trim() === '' ? Number.NaN : Number(value)));
  if (of.length === 0 || of.some((value) => !Number.isFinite(value))) return null;
  return { of, least: Math.min(...of), most: Math.max(...of) };
}

/** Height of the head of a cell, above its slots, by the width of the cell. Both are in screen px. */
export function headOf(width: number): number {
  if (width < 60) return width < 36 ? 0 : 3;
  return width < 150 ? 20 : 40;
}

/** Search hits: indexes of nodes and of workers. */
export interface Found {
  nodes: ReadonlySet<number>;
  workers: ReadonlySet<number>;
}

/**
 * Nodes and workers whose name, id, pid, function or class contains the search text; null without a search.
 */
export function matches(data: Physical, text: string): Found | null {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return null;
  const nodes = new Set<number>();
  const workers = new Set<number>();
  data.nodes.forEach((node, at) => {
    const texts = [node.name, node.node_ip ?? ''];
    if (node.node_id.startsWith(wanted) || texts.some((one) => one.toLowerCase().includes(wanted)))
      nodes.add(at);
  });
  const some = (names: readonly string[]) => names.map((name) => name.toLowerCase().includes(wanted));
  const functions = some(data.functions);
  const classes = some(data.classes);
  const { key, pid, node, function: runs, actor_class } = data.workers;
  key.forEach((id, at) => {
    const found =
      nodes.has(node[at] ?? NONE) ||
      id.startsWith(wanted) ||
      String(pid[at]) === wanted ||
      functions[runs[at] ?? NONE] === true ||
      classes[actor_class[at] ?? NONE] === true;
    if (found) workers.add(at);
  });
  return { nodes, workers };
}
