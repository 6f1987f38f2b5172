import { useNodeNames } from '../api/queries';
import { shortId } from '../base/format';
import { NamedId, NamedLink } from './NamedId';
import { useSessionUrl } from './useUrl';

/** The name of the node with an id. Until the names are loaded, the start of the id. */
export function useNodeTitle(): (id: string) => string {
  const [url] = useSessionUrl();
  const names = useNodeNames(url.session).data;
  return (id) => names?.get(id) ?? shortId(id);
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
