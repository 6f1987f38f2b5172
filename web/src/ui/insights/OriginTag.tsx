import { Badge } from '../Badge';
import { isOwn } from './useFindingTexts';

/**
 * The library whose code something is, nothing of the user's own; better what the library runs it for (`operator`),
 * unless that is what it is called (`name`).
 */
export function OriginTag(props: { origin: string | null; operator?: string | null; name?: string | null }) {
  const { origin, operator, name } = props;
  if (isOwn(origin) || (operator && operator === name)) return null;
  return <Badge>{operator ?? origin}</Badge>;
}
