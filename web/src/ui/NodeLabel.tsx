import { useNodeNames } from '../api/queries';
import { shortId } from '../base/format';
import { nodeTitle } from '../base/nodeTitle';
import { NamedId, NamedLink } from './NamedId';
import { useSessionUrl } from './useUrl';

/**
 * The distinct name of the node with an id. Until the names of all are loaded, the name of the node if it is passed,
 * otherwise the start of its id.
 */
export function useNodeTitle(): (id: string, node?: Parameters<typeof nodeTitle>[0]) => string {
  const [url] = useSessionUrl();
  const names = useNodeNames(url.session).data;
  return (id, node) => names?.get(id) ?? (node === undefined ? shortId(id) : nodeTitle(node));
}

/** A node shown by its name, with the id on hover. */
export function NodeLabel({ id }: { id: string | null }) {
  const name = useNodeTitle();
  return <NamedId id={id} name={name} />;
}

/** A link to the node's page, labelled with the node's name. With `full`, the id is shown next to it. */
export function NodeLink({ id, full }: { id: string; full?: boolean }) {
  const name = useNodeTitle();
  return <NamedLink view="nodes" id={id} name={name(id)} full={full} />;
}
