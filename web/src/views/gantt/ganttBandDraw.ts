/** Draws the number of attempts that ran at once, for a folded lane and for a node. */

import { fitText, ON_FILL, type Palette, type Size } from '../../ui/canvas';
import { BAR } from './gantt';
import type { LayoutRow } from './ganttLayout';
import { memoryFill } from './ganttMemory';
import type { Profile } from './ganttProfile';
import { type Scene, xOf } from './ganttScene';

/** Opacity of what is not on the critical path or does not match the search. Colors stay recognizable. */
export const FADED = 0.45;

/** Draws the profile as a filled step line between `y` and `y + height`. */
export function drawProfile(
  context: CanvasRenderingContext2D,
  size: Size,
  scene: Scene,
  profile: Profile,
  y: number,
  height: number,
): void {
  if (profile.most <= 0) return;
  const bottom = y + height;
  context.beginPath();
  context.moveTo(scene.left, bottom);
  let x = Number.NEGATIVE_INFINITY;
  let column = 0;
  let level = 0;
  // Draw the maximum per pixel; narrower steps would flicker.
  for (let at = 0; at < profile.at.length; at += 1) {
    const next = Math.round(xOf(scene, size, (profile.at[at] as number) + scene.shift));
    if (next > size.width + 2) break;
    const now = profile.n[at] as number;
    if (next !== x) {
      context.lineTo(x < scene.left ? scene.left : x, bottom - (column / profile.most) * height);
      if (next >= scene.left) {
        const from = Math.max(x + 1, scene.left);
        context.lineTo(Math.min(from, next), bottom - (level / profile.most) * height);
        context.lineTo(next, bottom - (level / profile.most) * height);
      }
      x = next;
      column = now;
    } else column = Math.max(column, now);
    level = now;
    if (x >= scene.left) context.lineTo(x, bottom - (column / profile.most) * height);
  }
  const last = Math.min(size.width + 2, Math.max(x + 1, scene.left));
  const goesOn = level > 0 ? size.width + 2 : last;
  context.lineTo(goesOn, bottom - (level / profile.most) * height);
  context.lineTo(goesOn, bottom);
  context.fill();
}

/**
 * Draws a folded lane: the number of attempts that ran at once and, below it, marks for failures and search
 * hits.
 */
export function drawBand(
  context: CanvasRenderingContext2D,
  size: Size,
  scene: Scene,
  look: Palette,
  row: LayoutRow,
  y: number,
): void {
  const profile = scene.profile(row.lane);
  const { data } = scene;
  const name = data.names[profile.name] ?? '';
  const height = row.height - 9;
  context.globalAlpha = scene.path !== null || (scene.matches !== null && !scene.matches(name)) ? FADED : 1;
  context.fillStyle = scene.byMemory
    ? memoryFill(data.lanes[row.lane - data.lanes_from]?.max_memory, data.max_memory, look.scheme)
    : look.named(name);
  drawProfile(context, size, scene, profile, y + 4, height);
  context.globalAlpha = 1;
  const { bars } = data;
  for (const bar of scene.barsOf(row.lane)) {
    const found = scene.matches?.(data.names[bars.name[bar] as number] ?? '') ?? false;
    if (!found && (bars.failed[bar] as number) === 0) continue;
    const x1 = Math.min(size.width, xOf(scene, size, (bars.end[bar] as number) + scene.shift));
    const begin = xOf(scene, size, (bars.begin[bar] as number) + scene.shift);
    // A single attempt failed at its end. When a merged one failed is unknown, so all of its time is marked.
    const x0 = Math.max(scene.left, found || (bars.count[bar] as number) > 1 ? begin : x1 - 3);
    context.fillStyle = look.tone(found ? 'busy' : 'bad');
    if (x1 >= x0) context.fillRect(x0, y + 2 + height, Math.max(2, x1 - x0), 3);
  }
  const from = Math.max(scene.left, xOf(scene, size, (profile.at[0] ?? 0) + scene.shift));
  const end = xOf(scene, size, (profile.at[profile.at.length - 1] ?? 0) + scene.shift);
  if (end - from < 60 || from > size.width) return;
  context.fillStyle = ON_FILL[look.scheme];
  context.fillText(
    fitText(context, name, Math.min(end, size.width) - from - 8),
    from + 4,
    y + 4 + height - BAR / 2,
  );
}
