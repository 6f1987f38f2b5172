import type { NodeRow } from '../../api/nodes';

export const nodeKey = (node: NodeRow) => node.node_id;

/** What a node is called: its own name unless that is only its address. */
export function nodeTitle(node: {
  node_name: string | null;
  hostname: string | null;
  node_ip: string | null;
  node_id: string;
}) {
  const named = node.node_name !== null && node.node_name !== node.node_ip ? node.node_name : null;
  return named ?? node.hostname ?? node.node_ip ?? node.node_id.slice(0, 12);
}
