/** The colours of nodes and workers. */

import { NONE } from '../../base/grid';
import { hash, type Palette, type Scheme } from '../../ui/canvas';
import { measuredShare, numeric } from './physical';
import type { Scene } from './physicalScene';

/** The colour of a placement group's outlines. The same group always has the same colour. */
export function groupColor(id: string, scheme: Scheme): string {
  return `hsl(${(hash(id) % 24) * 15} 70% ${scheme === 'light' ? 38 : 62}%)`;
}

/**
 * A function that returns the fill of a worker; null if the chosen criterion does not apply to the worker.
 */
export function colorer(scene: Scene, palette: Palette): (worker: number) => [string, number] | null {
  const { data, color } = scene;
  const { workers } = data;
  const at = (column: number[], worker: number) => column[worker] ?? NONE;
  const named = (names: readonly string[], place: number): [string, number] | null =>
    place === NONE ? null : [palette.named(names[place] ?? ''), 1];
  if (color.by === 'function') return (one) => named(data.functions, at(workers.function, one));
  if (color.by === 'class') return (one) => named(data.classes, at(workers.actor_class, one));
  if (color.by === 'job') return (one) => named(data.jobs, at(workers.job, one));
  if (color.by === 'annotation') {
    const numbers = numeric(data.values);
    if (numbers === null) return (one) => named(data.values, at(workers.annotation, one));
    const range = numbers.most - numbers.least;
    return (one) => {
      const value = numbers.of[at(workers.annotation, one)];
      if (value === undefined) return null;
      return [palette.tone('waiting'), 0.2 + 0.8 * (range > 0 ? (value - numbers.least) / range : 1)];
    };
  }
  if (color.by === 'measured')
    return (one) => {
      const share = measuredShare(data, color.name, one);
      // A worker that uses several cores gets the strongest fill, but not the colour of a problem.
      return share === null ? null : shaded(palette, Math.min(1, share));
    };
  return (one) => {
    const held = data.reserved[at(workers.reserved, one)]?.[color.name] ?? 0;
    const total = data.nodes[at(workers.node, one)]?.total?.[color.name];
    if (held <= 0) return null;
    return shaded(palette, total === undefined ? 1 : held / total);
  };
}

/** The fill for a reserved share: stronger for higher shares, and in another colour above 1. */
export function shaded(palette: Palette, share: number): [string, number] {
  return share > 1.0001 ? [palette.tone('bad'), 1] : [palette.tone('busy'), 0.2 + 0.8 * share];
}
