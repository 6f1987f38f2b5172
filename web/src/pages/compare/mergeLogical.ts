/** Merges the logical graphs of two runs into one. */

import type { LogicalCall, LogicalData } from '../../api/schema';
import type { LogicalAnswer, LogicalNode } from '../../views/logical/logicalModel';
import { grouped, type Pair } from './sides';

export type ChangeKind = 'came' | 'went' | 'grew' | 'shrank' | 'same';

/** The figures of a node or an edge on one side: how often it ran or was used, and its time or bytes. */
export interface Figures {
  count: number;
  size: number;
}

export interface ItemChange extends Pair<Figures> {
  kind: ChangeKind | 'unknown';
}

export interface MergedLogical {
  graph: LogicalAnswer;
  /** The changes of nodes, calls and data edges, by their IDs in the merged graph. */
  changes: ReadonlyMap<string, ItemChange>;
}

/** Times of equal runs vary, so a smaller change is none, as a share of A. */
export const MIN_CHANGE = 0.1;

/** Instances of a class and drivers have other IDs in each run, so they are merged with each other. */
export function mergeLogical(a: LogicalAnswer, b: LogicalAnswer): MergedLogical {
  const changes = new Map<string, ItemChange>();
  const isFolded = { a: a.folded.functions > 0, b: b.folded.functions > 0 };
  const merge = <T extends { id: string }>(
    [first, second]: readonly [readonly T[], readonly T[]],
    sum: (items: readonly T[]) => T,
    figures: (item: T) => Figures,
    by: keyof Figures,
  ): T[] =>
    [...grouped(first, second, ({ id }) => id)].map(([id, group]) => {
      const [before, after] = [group.a, group.b].map((items) => (items.length > 0 ? sum(items) : null));
      const pair = { a: before ? figures(before) : null, b: after ? figures(after) : null };
      const isHidden = (pair.a === null && isFolded.a) || (pair.b === null && isFolded.b);
      changes.set(id, { ...pair, kind: isHidden ? 'unknown' : kindOf(pair, by) });
      return (after ?? before) as T;
    });
  const nodes = [a, b].map((graph) =>
    graph.nodes.map(canonicalNode).filter(({ kind }) => kind !== 'instance'),
  );
  const edges = <T extends Edge>(kind: 'call' | 'data', of: (graph: LogicalAnswer) => T[]) =>
    [a, b].map((graph) => of(graph).map((edge) => canonicalEdge(kind, edge))) as [T[], T[]];
  const graph = {
    ...b,
    attempts: a.attempts + b.attempts,
    nodes: merge(nodes as [LogicalNode[], LogicalNode[]], sumOf(TIMES), sizeOfNode, 'size'),
    calls: merge(
      edges('call', ({ calls }) => calls),
      sumOf(TIMES),
      sizeOfNode,
      'count',
    ),
    data: merge(
      edges('data', ({ data }) => data),
      sumOf(SIZES),
      ({ objects, bytes }) => ({ count: objects, size: bytes }),
      'size',
    ),
  };
  // The layout needs a box before its content.
  graph.nodes.sort((one, other) => Number(one.parent !== null) - Number(other.parent !== null));
  return { graph, changes };
}

/** How an item changed by its number or its size. */
export function kindOf({ a, b }: Pair<Figures>, by: keyof Figures): ChangeKind {
  if (a === null) return 'came';
  if (b === null) return 'went';
  const change = b[by] - a[by];
  if (Math.abs(change) <= MIN_CHANGE * a[by]) return 'same';
  return change > 0 ? 'grew' : 'shrank';
}

type Edge = { id: string; source: string; target: string };

/** The ID without what is of one run: the job of a driver, and the actor of an instance or its method. */
function canonical(id: string): string {
  if (id.startsWith('driver:')) return 'driver';
  if (id.startsWith('i:')) return `c:${id.slice(2).replace(/@[^@]*$/, '')}`;
  return id.startsWith('m:') ? id.replace(/@[0-9a-f]*$/, '') : id;
}

const canonicalNode = (node: LogicalNode): LogicalNode => ({
  ...node,
  id: canonical(node.id),
  parent: node.parent === null ? null : canonical(node.parent),
  is_expanded: false,
});

function canonicalEdge<T extends Edge>(kind: 'call' | 'data', edge: T): T {
  const [source, target] = [canonical(edge.source), canonical(edge.target)];
  return { ...edge, id: `${kind}:${source}>${target}`, source, target };
}

const sizeOfNode = ({ attempts, executing_ns }: LogicalNode | LogicalCall): Figures => ({
  count: attempts,
  size: executing_ns,
});

const TIMES = ['attempts', 'failed', 'duration_ns', 'executing_ns', 'blocked_ns', 'output_bytes'] as const;
const SIZES = ['objects', 'bytes'] as const satisfies (keyof LogicalData)[];

/** Adds the named figures of items that are one in the merged graph. */
const sumOf =
  <K extends string>(fields: readonly K[]) =>
  <T extends Record<K, number>>(items: readonly T[]): T => {
    const sum = { ...(items[0] as T) };
    for (const one of items.slice(1)) for (const field of fields) (sum[field] as number) += one[field];
    return sum;
  };
