/** The logical graph as the API returns it, and operations on it that do not depend on the screen. */

import type {
  LogicalAnswer as Answer,
  CriticalPathAnswer,
  LogicalNode as Node,
  PausedTask,
} from '../../api/schema';
import { type Filters, type SessionUrl, type Settings, toView } from '../../base/url';
import { isSelected } from '../shared/isSelected';

type NodeKind =
  | 'driver'
  | 'function'
  | 'call'
  | 'class'
  | 'instance'
  | 'method'
  | 'library'
  | 'unknown'
  | 'other'
  | 'drivers';

// In the schema, the kind is any string.
export type LogicalNode = Node & { kind: NodeKind };
export type LogicalAnswer = Omit<Answer, 'nodes'> & { nodes: LogicalNode[] };

export const WEIGHTS = ['state', 'critical_path', 'executing', 'blocked', 'bytes'] as const;
export type Weight = (typeof WEIGHTS)[number];

export function weightOf(settings: Settings | undefined): Weight {
  return WEIGHTS.find((weight) => weight === settings?.weight) ?? 'state';
}

const FIELDS = { executing: 'executing_ns', blocked: 'blocked_ns', bytes: 'output_bytes' } as const;

/** The value of each leaf by the chosen weight; nothing for `state`, which is not a number. */
export function weighed(
  leaves: readonly LogicalNode[],
  weight: Weight,
  path: Pick<CriticalPathAnswer, 'functions'> | undefined,
): ReadonlyMap<string, number> {
  if (weight === 'state') return new Map();
  if (weight === 'critical_path') return onPath(leaves, path);
  return new Map(leaves.map((node) => [node.id, node[FIELDS[weight]]]));
}

/** The share of the critical path of each function. It is unknown for each of several nodes of a function. */
function onPath(leaves: readonly LogicalNode[], path: Pick<CriticalPathAnswer, 'functions'> | undefined) {
  const shares = new Map(path?.functions.map((one) => [one.is_driver ? null : one.name, one.share]));
  const named = leaves.filter(({ kind }) => kind === 'function' || kind === 'method' || kind === 'call');
  const times = new Map<string | null, number>();
  for (const { name } of named) times.set(name, (times.get(name) ?? 0) + 1);
  const known = path === undefined ? [] : named.filter(({ name }) => name && times.get(name) === 1);
  return new Map(known.map(({ id, name }) => [id, shares.get(name) ?? 0]));
}

/** The names in a setting: classes and functions for `expand` and `fold`, libraries for `unfold`. */
export function unfolded(setting: string | undefined): string[] {
  return [...new Set((setting ?? '').split(',').filter((name) => name !== ''))];
}

const OPPOSITE = { expand: 'fold', fold: 'expand' } as const;

/**
 * The changed setting. Folding something that was unfolded only removes its name from `expand`, and vice
 * versa.
 */
export function toggleUnfolded(
  settings: Settings | undefined,
  setting: 'expand' | 'fold' | 'unfold',
  name: string,
): Settings {
  const opposite = setting === 'unfold' ? setting : OPPOSITE[setting];
  const chosen = unfolded(settings?.[opposite]).includes(name) ? opposite : setting;
  const names = unfolded(settings?.[chosen]);
  const next = names.includes(name) ? names.filter((other) => other !== name) : [...names, name];
  return { [chosen]: next.length > 0 ? next.join(',') : undefined };
}

export interface Shown {
  calls: boolean;
  data: boolean;
}

export function shownEdges(settings: Settings | undefined): Shown {
  return { calls: settings?.hide !== 'calls', data: settings?.hide !== 'data' };
}

/**
 * Toggles one of the two kinds of edges; returns the kind that is now hidden. At least one stays visible,
 * since a graph without edges is useless.
 */
export function toggleShown(shown: Shown, kind: keyof Shown): string | undefined {
  if (!shown[kind]) return undefined;
  return kind;
}

/** Data edges with fewer bytes are hidden if there are larger ones. */
const TINY_BYTES = 1024;

/**
 * The graph without tiny data edges and without `__init__` methods, and the number of nodes and edges that
 * were removed.
 */
export function withoutMinor(graph: LogicalAnswer): { graph: LogicalAnswer; hidden: number } {
  const siblings = new Map<string | null, number>();
  for (const node of graph.nodes) siblings.set(node.parent, (siblings.get(node.parent) ?? 0) + 1);
  const gone = new Set<string>();
  for (const node of graph.nodes) {
    // Keep `__init__` if it failed or is its box's only method.
    const isMinor = node.kind === 'method' && node.name?.endsWith('__init__') && node.failed === 0;
    if (isMinor && (siblings.get(node.parent) ?? 0) > 1) gone.add(node.id);
  }
  const stays = (edge: { source: string; target: string }) =>
    !gone.has(edge.source) && !gone.has(edge.target);
  const calls = graph.calls.filter(stays);
  const isAnyLarge = graph.data.some((edge) => edge.bytes >= TINY_BYTES);
  const data = graph.data.filter((edge) => (edge.bytes >= TINY_BYTES || !isAnyLarge) && stays(edge));
  // An unknown caller may have no edges left.
  const ends = new Set([...calls, ...data].flatMap(({ source, target }) => [source, target]));
  for (const node of graph.nodes) if (node.kind === 'unknown' && !ends.has(node.id)) gone.add(node.id);
  const edges = graph.calls.length - calls.length + graph.data.length - data.length;
  return {
    graph: { ...graph, nodes: graph.nodes.filter((node) => !gone.has(node.id)), calls, data },
    hidden: gone.size + edges,
  };
}

export const isBox = (node: LogicalNode) =>
  node.kind === 'class' || node.kind === 'instance' || (node.kind === 'function' && node.is_expanded);

/**
 * The name by which a node is unfolded (of a class, a library or a function); null if it cannot be unfolded.
 */
export function unfoldsBy(node: LogicalNode): string | null {
  if (node.kind === 'class') return node.class_name;
  if (node.kind === 'library') return node.library;
  return node.kind === 'function' && node.attempts > 0 && !node.name?.includes('.') ? node.name : null;
}

/** A key that is the same for graphs with the same nodes and edges, whatever their numbers are. */
export function structureOf(graph: Pick<LogicalAnswer, 'nodes' | 'calls' | 'data'>): string {
  const ids = (items: { id: string }[]) =>
    items
      .map((item) => item.id)
      .sort()
      .join('\n');
  const parents = graph.nodes.map((node) => `${node.id}<${node.parent ?? ''}`).sort();
  return [parents.join('\n'), ids(graph.calls), ids(graph.data)].join('\n\n');
}

/**
 * The ids of the `limit` largest edges. If there is a tie at the limit, only the edges as large as the
 * largest one count. Edges of size zero are never included, and the result never contains all edges.
 */
export function hottest<T extends { id: string }>(
  edges: T[],
  of: (edge: T) => number,
  limit = 3,
): Set<string> {
  if (edges.length <= limit) return new Set();
  const values = edges.map(of).sort((a, b) => b - a);
  // Edges of equal size are either all hot or none of them.
  const least = values[limit - 1] === values[limit] ? values[0] : values[limit - 1];
  const hot = edges.filter((edge) => of(edge) > 0 && of(edge) >= (least ?? 0));
  return new Set(hot.length === edges.length ? [] : hot.map((edge) => edge.id));
}

/** A stroke width from 1.2 to 5 px, by the logarithm of the value relative to the graph's maximum. */
export function strokeOf(value: number, most: number): number {
  if (value <= 0 || most <= 0) return 1.2;
  return 1.2 + (3.8 * Math.log1p(value)) / Math.log1p(Math.max(most, value));
}

export function matches(node: LogicalNode, text: string): boolean {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return false;
  return [
    node.name,
    node.actor_id,
    node.task_id,
    node.job_id,
    node.kind === 'class' ? node.class_name : null,
  ].some((value) => value?.toLowerCase().includes(wanted));
}

/** A node and everything inside it. */
export function membersOf(nodes: LogicalNode[], id: string): Set<string> {
  const inside = new Set([id]);
  // In this list, a box comes before its content.
  for (const node of nodes) if (node.parent !== null && inside.has(node.parent)) inside.add(node.id);
  return inside;
}

/** Whether a node or box stands for a task, possibly with others. */
function holds(node: LogicalNode, task: PausedTask): boolean {
  if (node.kind === 'driver') return task.is_driver && node.job_id === task.job_id;
  const name = task.func_name ?? '';
  const isOfClass = node.kind === 'class' || node.kind === 'instance';
  return (
    (isOfClass ? node.class_name === name.slice(0, name.lastIndexOf('.')) : node.name === name) &&
    (node.task_id ?? task.task_id) === task.task_id &&
    (node.actor_id ?? task.actor_id) === task.actor_id
  );
}

/**
 * The paused tasks of each node and of the boxes around it, by the node's ID. Tasks that the
 * filters may exclude are left out.
 */
export function pausedIn(
  nodes: LogicalNode[],
  tasks: readonly PausedTask[],
  filters: Filters,
): Map<string, PausedTask[]> {
  const paused = new Map<string, PausedTask[]>();
  const byId = new Map(nodes.map((node) => [node.id, node]));
  for (const task of tasks.filter((one) => isSelected(one, filters))) {
    const all = nodes.filter((node) => holds(node, task));
    // A box comes before its content. Calls and instances that are not shown share a node without an ID.
    let node = all.findLast(({ task_id, actor_id }) => task_id !== null || actor_id !== null) ?? all.at(-1);
    while (node !== undefined) {
      paused.set(node.id, [...(paused.get(node.id) ?? []), task]);
      node = byId.get(node.parent ?? '');
    }
  }
  return paused;
}

export interface Neighbour {
  id: string;
  count: number;
  bytes: number;
}

interface Around {
  callers: Neighbour[];
  callees: Neighbour[];
  dataIn: Neighbour[];
  dataOut: Neighbour[];
}

/** The neighbours of a node, or of a box's content without the box itself, largest first. */
export function around(graph: LogicalAnswer, id: string): Around {
  const inside = membersOf(graph.nodes, id);
  const isLeaf = inside.size === 1;
  function sum<T extends { source: string; target: string }>(
    edges: T[],
    side: 'source' | 'target',
    count: (edge: T) => number,
    bytes: (edge: T) => number,
  ): Neighbour[] {
    const found = new Map<string, Neighbour>();
    const other = side === 'source' ? 'target' : 'source';
    for (const edge of edges) {
      if (!inside.has(edge[other]) || (inside.has(edge[side]) && !isLeaf)) continue;
      const known = found.get(edge[side]) ?? { id: edge[side], count: 0, bytes: 0 };
      known.count += count(edge);
      known.bytes += bytes(edge);
      found.set(edge[side], known);
    }
    return [...found.values()].sort((a, b) => b.bytes - a.bytes || b.count - a.count);
  }
  const calls = (side: 'source' | 'target') =>
    sum(
      graph.calls,
      side,
      (edge) => edge.attempts,
      () => 0,
    );
  const data = (side: 'source' | 'target') =>
    sum(
      graph.data,
      side,
      (edge) => edge.objects,
      (edge) => edge.bytes,
    );
  return {
    callers: calls('source'),
    callees: calls('target'),
    dataIn: data('source'),
    dataOut: data('target'),
  };
}

const DRIVER = 'f'.repeat(40);

/** A link to the attempts of a node, slowest first; null if no filter selects them. */
export function attemptsOf(url: SessionUrl, node: LogicalNode): SessionUrl | null {
  const of: Filters | null =
    node.kind === 'driver' && node.job_id !== null
      ? { caller_task_id: DRIVER + node.job_id }
      : node.kind === 'instance' && node.actor_id !== null
        ? { actor_id: node.actor_id }
        : (node.kind === 'function' || node.kind === 'method') && node.name !== null
          ? { func_name: node.name, ...(node.actor_id !== null && { actor_id: node.actor_id }) }
          : null;
  if (of === null) return null;
  return { ...toView(url, 'tasks', { ...url.filters, ...of }), sort: '-duration_ns' };
}
