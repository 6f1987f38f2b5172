import { Badge } from '../Badge';
import { isOwn } from './useFindingTexts';

/**
 * A badge with the library that code belongs to or, if it is known, the more specific `operator`. There is no
 * badge for the user's own code, or if the operator equals `name`.
 */
export function OriginTag(props: { origin: string | null; operator?: string | null; name?: string | null }) {
  const { origin, operator, name } = props;
  if (isOwn(origin) || (operator && operator === name)) return null;
  return <Badge>{operator ?? origin}</Badge>;
}
