import type { SessionUrl } from '../../base/url';
import { parseRange } from '../shared/range';
import type { FlameParams } from './useFlame';

/** The API parameters for the compared range of time (`vs`); null if there is none. */
export function comparedRange({ settings, filters }: SessionUrl): FlameParams | null {
  if (settings?.vs === 'rest') return filters.since_ns || filters.until_ns ? { baseline_rest: 'true' } : null;
  const range = parseRange(settings?.vs);
  return range && { baseline_since_ns: range.from, baseline_until_ns: range.to };
}
