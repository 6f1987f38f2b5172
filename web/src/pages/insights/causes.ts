import type { Cause } from '../../api/insights';

/** A part of the bar; without a cause it is the rest. */
export interface Part {
  cause: Cause | null;
  total_ns: number;
  share: number;
}

/** What is less is not drawn. */
const SLIVER = 0.0005;

/** The causes, the largest first, of which so many have a part; the rest makes the whole add up to 1. */
export function partsOf(causes: readonly Cause[], whole: number, most: number): Part[] {
  const shown = causes.slice(0, most).filter(({ share }) => share > SLIVER);
  const rest = 1 - shown.reduce((sum, { share }) => sum + share, 0);
  const parts: Part[] = shown.map((cause) => ({ cause, total_ns: cause.total_ns, share: cause.share }));
  return rest > SLIVER ? [...parts, { cause: null, total_ns: rest * whole, share: rest }] : parts;
}

/** How much of their colour parts of the same one have, in per cent: neighbours look different. */
const SHADES = [100, 62, 82, 42, 72, 52] as const;

/** The shade of a part among those of its colour. */
export function shadeOf(parts: readonly Part[], part: Part, colorOf: (part: Part) => string): number {
  const alike = parts.filter((one) => colorOf(one) === colorOf(part));
  return SHADES[alike.indexOf(part) % SHADES.length] as number;
}
