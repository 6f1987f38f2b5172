/** The distributed call stack: the server's answer, and which of its lines are shown. */

import type { PausedTask, StackNode } from '../../api/schema';
import type { Filters } from '../../base/url';
import { isSelected } from '../shared/isSelected';

/** The situations in the order in which an attempt passes through them. */
const SITUATIONS = [
  'waiting_args',
  'waiting_node',
  'starting_worker',
  'queued',
  'loading',
  'fetching',
  'running',
  'blocked',
  'storing',
  'ended',
  'unknown',
] as const satisfies StackNode['situation'][];
export type Situation = (typeof SITUATIONS)[number];

export interface Line {
  node: StackNode;
  /** Whether it has children that can be shown or hidden. */
  parent: boolean;
  open: boolean;
  match: boolean;
}

/**
 * The visible lines, in order. Children of a closed node are hidden, but a search opens the path to every
 * match. With `awaited`, only what the job is waiting for is listed, with its callers.
 */
export function lines(
  nodes: readonly StackNode[],
  closed: ReadonlySet<string>,
  awaited: boolean,
  search: string,
): Line[] {
  const wanted = search.trim().toLowerCase();
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const matches = new Set<string>();
  const kept = new Set<string>();
  const onTheWay = new Set<string>();
  const withBelow = new Set<string>();
  const climb = (node: StackNode, into: Set<string>) => {
    let at = node.parent === null ? undefined : byId.get(node.parent);
    while (at !== undefined && !into.has(at.id)) {
      into.add(at.id);
      at = at.parent === null ? undefined : byId.get(at.parent);
    }
  };
  for (const node of nodes) {
    if (awaited && node.awaited) {
      kept.add(node.id);
      climb(node, kept);
    }
  }
  const left = awaited ? nodes.filter((node) => kept.has(node.id)) : nodes;
  for (const node of left) {
    if (node.parent !== null) withBelow.add(node.parent);
    if (wanted !== '' && node.name.toLowerCase().includes(wanted)) {
      matches.add(node.id);
      climb(node, onTheWay);
    }
  }
  const shown: Line[] = [];
  const hidden = new Set<string>();
  for (const node of left) {
    const open = !closed.has(node.id) || onTheWay.has(node.id);
    const visible = node.parent === null || !hidden.has(node.parent);
    if (!visible || !open) hidden.add(node.id);
    if (visible) shown.push({ node, parent: withBelow.has(node.id), open, match: matches.has(node.id) });
  }
  return shown;
}

/**
 * The paused tasks of each node, by its ID. A node names only some of its attempts, so a task that none of them
 * names is left out if several nodes, or one that is not shown, may have it.
 */
export function pausedIn(
  nodes: readonly StackNode[],
  tasks: readonly PausedTask[],
  filters: Filters,
): Map<string, PausedTask[]> {
  const paused = new Map<string, PausedTask[]>();
  const isComplete = nodes.every((node) => node.folded_nodes === 0);
  for (const task of tasks) {
    const named = nodes.find(({ examples }) =>
      examples.some(({ task_id, attempt }) => task_id === task.task_id && attempt === task.attempt),
    );
    const unnamed = nodes.filter(
      (node) =>
        node.name === task.func_name &&
        node.count > node.examples.length &&
        (node.situation === 'running' || node.situation === 'storing'),
    );
    const isCertain = isComplete && unnamed.length === 1 && isSelected(task, filters);
    const node = named ?? (isCertain ? unnamed[0] : undefined);
    if (node !== undefined) paused.set(node.id, [...(paused.get(node.id) ?? []), task]);
  }
  return paused;
}

/** `text` split at the first occurrence of `search`, ignoring case: [before, hit, after], or null. */
export function found(text: string, search: string): [string, string, string] | null {
  const wanted = search.trim().toLowerCase();
  const at = wanted === '' ? -1 : text.toLowerCase().indexOf(wanted);
  if (at < 0) return null;
  return [text.slice(0, at), text.slice(at, at + wanted.length), text.slice(at + wanted.length)];
}

/**
 * The number of attempts in each situation, in the order of `SITUATIONS`. Nodes that the server folded away
 * are not counted.
 */
export function bySituation(nodes: readonly StackNode[]): [Situation, number][] {
  const counts = new Map<Situation, number>();
  for (const node of nodes)
    if (node.count > 0) counts.set(node.situation, (counts.get(node.situation) ?? 0) + node.count);
  return SITUATIONS.filter((name) => counts.has(name)).map((name) => [name, counts.get(name) ?? 0]);
}
