import { Badge } from '../Badge';
import { isOwn } from './useFindingTexts';

/**
 * The library to which code belongs; nothing for the user's own. `operator` is the more specific purpose and
 * is preferred, unless it equals `name`.
 */
export function OriginTag(props: { origin: string | null; operator?: string | null; name?: string | null }) {
  const { origin, operator, name } = props;
  if (isOwn(origin) || (operator && operator === name)) return null;
  return <Badge>{operator ?? origin}</Badge>;
}
