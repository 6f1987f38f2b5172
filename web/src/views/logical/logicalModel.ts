/** The logical graph as the API answers it, and what the page makes of it: nothing here touches the screen. */

import { type Filters, type SessionUrl, type Settings, toView } from '../../base/url';

export interface Figures {
  attempts: number;
  failed: number;
  duration_ns: number;
  executing_ns: number;
  awaiting_ns: number;
  blocked_ns: number;
  output_bytes: number;
  total_p50_ns: number | null;
  total_p95_ns: number | null;
  p50_ns: number | null;
  p95_ns: number | null;
}

export type NodeKind =
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

export interface LogicalNode extends Figures {
  id: string;
  kind: NodeKind;
  name: string | null;
  parent: string | null;
  class_name: string | null;
  actor_id: string | null;
  /** Of one call of an unfolded function; null stands for the others. */
  task_id: string | null;
  job_id: string | null;
  /** Whose code it is, where those of libraries are folded; null of the user's. */
  library: string | null;
  actors: number | null;
  is_expanded: boolean;
  states: Record<string, number>;
}

export interface LogicalCall extends Figures {
  id: string;
  source: string;
  target: string;
}

export interface LogicalData {
  id: string;
  source: string;
  target: string;
  objects: number;
  bytes: number;
  arguments: number;
  argument_bytes: number;
  gets: number;
  get_bytes: number;
}

export interface Library {
  library: string;
  functions: number;
  is_folded: boolean;
}

export interface LogicalAnswer {
  session: string;
  attempts: number;
  nodes: LogicalNode[];
  calls: LogicalCall[];
  data: LogicalData[];
  folded: {
    functions: number;
    attempts: number;
    duration_ns: number;
    drivers: number;
    instances: Record<string, number>;
    calls: Record<string, number>;
  };
  libraries: Library[];
  limit: number;
  is_estimated: boolean;
  data_sampled: number;
  data_unnamed: number;
  /** Of a long record that grows: until when its sums tell. */
}

export const WEIGHTS = ['state', 'executing', 'blocked', 'bytes'] as const;
export type Weight = (typeof WEIGHTS)[number];

export function weightOf(settings: Settings | undefined): Weight {
  return WEIGHTS.find((weight) => weight === settings?.weight) ?? 'state';
}

/** What a node weighs; of its states there is no one number. */
export function weigh(node: Figures, weight: Weight): number {
  if (weight === 'executing') return node.executing_ns;
  if (weight === 'blocked') return node.blocked_ns;
  if (weight === 'bytes') return node.output_bytes;
  return 0;
}

/** The names of a setting: classes and functions of `expand` and `fold`, libraries of `unfold`. */
export function unfolded(setting: string | undefined): string[] {
  return [...new Set((setting ?? '').split(',').filter((name) => name !== ''))];
}

const OPPOSITE = { expand: 'fold', fold: 'expand' } as const;

/** The changed setting: to fold what was unfolded takes a name from `expand`, and the other way round. */
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

/** Of two switches one is always on: a graph without edges says nothing. */
export function toggleShown(shown: Shown, kind: keyof Shown): string | undefined {
  if (!shown[kind]) return undefined;
  return kind;
}

/** Beside larger ones, data edges with less are not worth a line. */
const TINY_BYTES = 1024;

/** The graph without tiny data and `__init__`, and how many nodes and edges that leaves out. */
export function withoutMinor(graph: LogicalAnswer): { graph: LogicalAnswer; hidden: number } {
  const siblings = new Map<string | null, number>();
  for (const node of graph.nodes) siblings.set(node.parent, (siblings.get(node.parent) ?? 0) + 1);
  const gone = new Set<string>();
  for (const node of graph.nodes) {
    // A box keeps something to show, a failure stays in sight.
    const isMinor = node.kind === 'method' && node.name?.endsWith('__init__') && node.failed === 0;
    if (isMinor && (siblings.get(node.parent) ?? 0) > 1) gone.add(node.id);
  }
  const stays = (edge: { source: string; target: string }) =>
    !gone.has(edge.source) && !gone.has(edge.target);
  const calls = graph.calls.filter(stays);
  const isAnyLarge = graph.data.some((edge) => edge.bytes >= TINY_BYTES);
  const data = graph.data.filter((edge) => (edge.bytes >= TINY_BYTES || !isAnyLarge) && stays(edge));
  // Who called nothing else has nothing left to show.
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

/** What a node unfolds by, if it does: the name of a class, of a library, or of a function. */
export function unfoldsBy(node: LogicalNode): string | null {
  if (node.kind === 'class') return node.class_name;
  if (node.kind === 'library') return node.library;
  return node.kind === 'function' && node.attempts > 0 && !node.name?.includes('.') ? node.name : null;
}

/** Equal for graphs of the same nodes and edges, whatever their numbers. */
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
 * The ids of the `many` edges with the most, more where several have as much; edges with nothing are never among them,
 * nor are all edges.
 */
export function hottest<T extends { id: string }>(
  edges: T[],
  of: (edge: T) => number,
  many = 3,
): Set<string> {
  if (edges.length <= many) return new Set();
  const values = edges.map(of).sort((a, b) => b - a);
  // Equal edges are all hot, or none is.
  const least = values[many - 1] === values[many] ? values[0] : values[many - 1];
  const hot = edges.filter((edge) => of(edge) > 0 && of(edge) >= (least ?? 0));
  return new Set(hot.length === edges.length ? [] : hot.map((edge) => edge.id));
}

/** 1.2 to 5 px, by the logarithm of a value among those of the graph. */
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

/** A node and all that is inside it. */
export function membersOf(nodes: LogicalNode[], id: string): Set<string> {
  const inside = new Set([id]);
  // Boxes stand before what is in them.
  for (const node of nodes) if (node.parent !== null && inside.has(node.parent)) inside.add(node.id);
  return inside;
}

export interface Neighbour {
  id: string;
  count: number;
  bytes: number;
}

export interface Around {
  callers: Neighbour[];
  callees: Neighbour[];
  dataIn: Neighbour[];
  dataOut: Neighbour[];
}

/** What is next to a node, or outside next to what is in a box: the most first. */
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

/** The attempts of a node as a list, slowest first; null where no filter picks them. */
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
