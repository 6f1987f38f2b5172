/** Draws the transfers between nodes. */

import type { Box } from '../../base/grid';
import type { Palette } from '../../ui/canvas';
import { type Camera, cellBox, type Scene } from './physicalScene';

/** Draws arrows between nodes. The more bytes were transferred, the wider the arrow. */
export function drawPairs(
  context: CanvasRenderingContext2D,
  scene: Scene,
  camera: Camera,
  palette: Palette,
): void {
  if (scene.pairs.length === 0) return;
  const place = new Map(scene.order.map((node, at) => [scene.data.nodes[node]?.node_id, at]));
  const most = scene.pairs.reduce((all, pair) => Math.max(all, pair.bytes), 1);
  context.strokeStyle = palette.tone('waiting');
  context.fillStyle = palette.tone('waiting');
  // Small cells get thin arrows.
  const strength = Math.min(1, Math.max(0.35, cellBox(scene, camera, 0).width / 120));
  for (const pair of [...scene.pairs].reverse()) {
    const [source, target] = [place.get(pair.source), place.get(pair.target)];
    if (source === undefined || target === undefined) continue;
    const [begin, end] = [cellBox(scene, camera, source), cellBox(scene, camera, target)];
    let [from, to] = [middle(begin), middle(end)];
    const length = Math.hypot(to.x - from.x, to.y - from.y);
    if (length < 1) continue;
    const [dx, dy] = [(to.x - from.x) / length, (to.y - from.y) / length];
    const bend = Math.min(60, length * 0.18);
    // Arrows are curved to one side, so that the two directions do not overlap.
    const knee = { x: (from.x + to.x) / 2 - dy * bend, y: (from.y + to.y) / 2 + dx * bend };
    // Start near the border, so that most of the cell stays readable. Arrows between neighbours then mostly
    // run in the gap.
    from = border(begin, knee);
    to = border(end, knee);
    const width = strength * (1 + 4 * Math.sqrt(pair.bytes / most));
    context.globalAlpha = 0.75;
    context.lineWidth = width;
    context.beginPath();
    context.moveTo(from.x, from.y);
    context.quadraticCurveTo(knee.x, knee.y, to.x, to.y);
    context.stroke();
    const [ex, ey] = [to.x - knee.x, to.y - knee.y];
    const far = Math.hypot(ex, ey) || 1;
    const [ux, uy] = [ex / far, ey / far];
    const side = 3 + strength + width * 1.5;
    context.globalAlpha = 1;
    context.beginPath();
    context.moveTo(to.x + ux * side * 0.6, to.y + uy * side * 0.6);
    context.lineTo(to.x - ux * side - uy * side * 0.7, to.y - uy * side + ux * side * 0.7);
    context.lineTo(to.x - ux * side + uy * side * 0.7, to.y - uy * side - ux * side * 0.7);
    context.fill();
  }
  context.globalAlpha = 1;
}

/**
 * A point on the way from a box's centre to where the line to `point` leaves the box, at three quarters of
 * it; the centre if `point` is inside.
 */
function border(box: Box, point: { x: number; y: number }): { x: number; y: number } {
  const from = middle(box);
  const [dx, dy] = [point.x - from.x, point.y - from.y];
  const out = Math.min(box.width / 2 / Math.abs(dx || 1e-9), box.height / 2 / Math.abs(dy || 1e-9));
  const part = out * 0.75;
  return out >= 1 ? from : { x: from.x + dx * part, y: from.y + dy * part };
}

function middle(box: Box): { x: number; y: number } {
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}
