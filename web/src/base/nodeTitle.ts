/** Whether a node type has a name. Without an autoscaler configuration, each node has a type of its own. */
export const hasTypeName = (type: string) => type !== '' && !/^node_[0-9a-f]{20,}$/.test(type);

/**
 * A node's name: its custom name, otherwise its host name. Mirrors storage/sql/node_names.py. Nodes on one host
 * share it: only show it next to the id, or else make it unique.
 */
export function nodeTitle(node: {
  node_name?: string | null;
  hostname?: string | null;
  node_ip?: string | null;
  node_id: string;
}): string {
  const named = node.node_name === node.node_ip ? null : node.node_name;
  return named || node.hostname || node.node_ip || node.node_id.slice(0, 8);
}

/** Distinct names of nodes: a name that several nodes share is followed by the start of the node's id. */
export function uniqueNames(nodes: readonly { name: string; node_id: string }[]): string[] {
  const counts = new Map<string, number>();
  for (const { name } of nodes) counts.set(name, (counts.get(name) ?? 0) + 1);
  return nodes.map(({ name, node_id }) =>
    (counts.get(name) ?? 0) > 1 ? `${name} · ${node_id.slice(0, 6)}` : name,
  );
}
