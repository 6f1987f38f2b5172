import { Badge } from '../Badge';
import { isOwn } from './useFindingTexts';

/** The library whose code something is; nothing of the user's own. */
export function OriginTag({ origin }: { origin: string | null }) {
  return isOwn(origin) ? null : <Badge>{origin}</Badge>;
}
