import { type LogicalAnswer, membersOf } from './logicalModel';

/**
 * The part of the graph that stays visible while the rest is dimmed: `nodes`, and the edges from or to
 * `ends`.
 */
export interface Focus {
  ends: Set<string>;
  nodes: Set<string>;
}

export function focusOf(
  graph: LogicalAnswer,
  found: Set<string> | null,
  selected: string | undefined,
): Focus | null {
  if (found !== null) {
    const ends = new Set([...found].flatMap((id) => [...membersOf(graph.nodes, id)]));
    return { ends, nodes: ends };
  }
  if (selected === undefined) return null;
  const ends = membersOf(graph.nodes, selected);
  const nodes = new Set(ends);
  for (const edge of [...graph.calls, ...graph.data]) {
    if (ends.has(edge.source)) nodes.add(edge.target);
    if (ends.has(edge.target)) nodes.add(edge.source);
  }
  return { ends, nodes };
}
