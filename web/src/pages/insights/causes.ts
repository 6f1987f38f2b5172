import type { ExplainedCause } from '../../api/schema';

/** A part of the bar. The part without a cause stands for all other causes. */
export interface Part {
  cause: ExplainedCause | null;
  total_ns: number;
  share: number;
}

/** Shares below this are not drawn. */
const MIN_SHARE = 0.0005;

/** The parts of the bar: the `most` largest causes, and a rest that makes the shares add up to 1. */
export function partsOf(causes: readonly ExplainedCause[], whole: number, most: number): Part[] {
  const shown = causes.slice(0, most).filter(({ share }) => share > MIN_SHARE);
  const rest = 1 - shown.reduce((sum, { share }) => sum + share, 0);
  const parts: Part[] = shown.map((cause) => ({ cause, total_ns: cause.total_ns, share: cause.share }));
  return rest > MIN_SHARE ? [...parts, { cause: null, total_ns: rest * whole, share: rest }] : parts;
}

/** Opacities of parts with the same colour, in percent, ordered so that neighbours look different. */
const SHADES = [100, 62, 82, 42, 72, 52] as const;

/** The shade of a part among those of the same colour. */
export function shadeOf(parts: readonly Part[], part: Part, colorOf: (part: Part) => string): number {
  const alike = parts.filter((one) => colorOf(one) === colorOf(part));
  return SHADES[alike.indexOf(part) % SHADES.length] as number;
}
