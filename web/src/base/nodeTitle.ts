/** Whether a node type has a name. Without an autoscaler configuration, each node has a type of its own. */
export const hasTypeName = (type: string) => type !== '' && !/^node_[0-9a-f]{20,}$/.test(type);

/** A node's display name: its custom name, otherwise its host name. Mirrors storage/sql/node_names.py. */
export function nodeTitle(node: {
  node_name?: string | null;
  hostname?: string | null;
  node_ip?: string | null;
  node_id: string;
}): string {
  const named = node.node_name === node.node_ip ? null : node.node_name;
  return named || node.hostname || node.node_ip || node.node_id.slice(0, 8);
}
