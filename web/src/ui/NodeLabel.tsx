import { useNodeNames } from '../api/queries';
import { shortId } from '../base/format';
import { NamedId, NamedLink } from './NamedId';
import { useSessionUrl } from './useUrl';

/** A node's name by its id; the beginning of the id until the name is loaded. */
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

/** A link to the node's page with the same text. `full`: with the id next to it. */
export function NodeLink({ id, full }: { id: string; full?: boolean }) {
  const name = useNodeTitle();
  return <NamedLink view="nodes" id={id} name={name(id)} full={full} />;
}
