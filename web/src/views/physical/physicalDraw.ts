/** Draws nodes with their workers and bundles. */

import type { PhysicalNode } from '../../api/schema';
import type { Box } from '../../base/grid';
import { NONE } from '../../base/grid';
import { fonts } from '../../base/tokens';
import { fitText, ON_FILL, type Palette } from '../../ui/canvas';
import { headOf, type Slot, usedShare } from './physical';
import { colorer, groupColor, shaded } from './physicalColor';
import { drawPairs } from './physicalPairs';
import { type Camera, cellBox, labelOf, type Scene, slotBoxes, usedText } from './physicalScene';

/** Cells narrower than this are drawn as plain boxes, px. */
const PLAIN = 11;
/** Workers lower than this are drawn without details, px. */
const TINY = 8;
const SMALL_FONT = `10px ${fonts.text}`;
/** Minimum width of a box with large details, px. */
const LARGE = 140;
/** Maximum diameter of drivers' rounded corners, px. Smaller drivers are circles. */
const ROUND = 90;
const LARGE_FONT = `13px ${fonts.text}`;

export function drawScene(
  context: CanvasRenderingContext2D,
  size: { width: number; height: number },
  scene: Scene,
  camera: Camera,
  palette: Palette,
): void {
  const colorOf = colorer(scene, palette);
  context.lineJoin = 'round';
  scene.order.forEach((node, place) => {
    const cell = cellBox(scene, camera, place);
    if (cell.x > size.width || cell.y > size.height || cell.x + cell.width < 0 || cell.y + cell.height < 0)
      return;
    drawNode(context, scene, node, cell, palette, colorOf);
  });
  drawPairs(context, scene, camera, palette);
}

function drawNode(
  context: CanvasRenderingContext2D,
  scene: Scene,
  node: number,
  cell: Box,
  palette: Palette,
  colorOf: (worker: number) => [string, number] | null,
): void {
  const about = scene.data.nodes[node];
  if (about === undefined) return;
  const sought = scene.found;
  const isFound = sought?.nodes.has(node) ?? false;
  context.globalAlpha = 1;
  context.fillStyle = cell.width < PLAIN ? palette.hover : palette.panel;
  roundBox(context, cell, Math.min(6, cell.width / 10));
  context.fill();
  if (cell.width < PLAIN) {
    const share = usedShare(about, scene.resource);
    const [fill, alpha] = shaded(palette, share ?? (about.running > 0 ? 1 : 0));
    context.globalAlpha = sought !== null && !isFound ? 0.1 : alpha;
    context.fillStyle = fill;
    context.fill();
  }
  context.globalAlpha = 1;
  const selected = scene.node === node;
  context.strokeStyle = selected || isFound ? palette.tone('busy') : palette.line;
  context.lineWidth = selected ? 2.5 : isFound ? 1.5 : 1;
  context.stroke();
  if (cell.width < PLAIN) return;
  drawHead(context, scene, node, about, cell, palette);
  const boxes = slotBoxes(scene, cell, node);
  (scene.slots[node] ?? []).forEach((slot, at) => {
    const box = boxes[at];
    if (box !== undefined) drawSlot(context, scene, slot, box, palette, colorOf);
  });
  drawBundles(context, scene, node, boxes, palette);
}

function drawHead(
  context: CanvasRenderingContext2D,
  scene: Scene,
  node: number,
  about: PhysicalNode,
  cell: Box,
  palette: Palette,
): void {
  const head = headOf(cell.width);
  if (head === 0) return;
  const share = usedShare(about, scene.resource);
  const bar = { x: cell.x + 5, y: cell.y + head - 3, width: cell.width - 10, height: 3 };
  if (head < 10) Object.assign(bar, { x: cell.x + 1, y: cell.y + 1, width: cell.width - 2, height: 2 });
  if (share !== null) {
    context.fillStyle = palette.lineSoft;
    context.fillRect(bar.x, bar.y, bar.width, bar.height);
    context.fillStyle = palette.tone(share > 1.0001 ? 'bad' : 'busy');
    context.fillRect(bar.x, bar.y, bar.width * Math.min(1, share), bar.height);
  }
  if (head < 10) return;
  context.textBaseline = 'middle';
  context.textAlign = 'left';
  const isLarge = cell.width > 3 * LARGE;
  context.font = `${about.is_head ? '600 ' : ''}${isLarge ? 13 : 11}px ${fonts.text}`;
  context.fillStyle = palette.text;
  const badge = about.is_head && cell.width > 150 ? ` · ${scene.texts.head}` : '';
  const name = `${scene.names[node] ?? about.name}${badge}`;
  context.fillText(fitText(context, name, cell.width - 14), cell.x + 7, cell.y + (isLarge ? 12 : 9));
  if (head < 30) return;
  context.font = isLarge ? `11px ${fonts.text}` : SMALL_FONT;
  context.fillStyle = palette.muted;
  context.fillText(
    fitText(context, usedText(about), cell.width - 14),
    cell.x + 7,
    cell.y + (isLarge ? 28 : 25),
  );
}

function drawSlot(
  context: CanvasRenderingContext2D,
  scene: Scene,
  slot: Slot,
  box: Box,
  palette: Palette,
  colorOf: (worker: number) => [string, number] | null,
): void {
  const { workers, kinds } = scene.data;
  const { worker } = slot;
  if (worker === NONE) return; // an empty bundle has only its outline
  const isDriver = kinds[workers.kind[worker] ?? NONE] === 'DRIVER';
  const running = workers.running[worker] ?? 0;
  const pale =
    (scene.found !== null && !scene.found.workers.has(worker)) || (scene.filtered && running === 0);
  const strength = pale ? 0.16 : 1;
  const tiny = box.height < TINY;
  const radius = isDriver ? Math.min(box.width, box.height, ROUND) / 2 : Math.min(3, box.width / 6);
  const fill = colorOf(worker);
  const isBlocked = (workers.blocked[worker] ?? 0) > 0;
  roundBox(context, box, radius);
  if (fill === null) {
    context.globalAlpha = strength;
    context.fillStyle = palette.hover;
    context.fill();
    if (isBlocked) {
      context.globalAlpha = strength * 0.45;
      context.fillStyle = palette.tone('busy');
      context.fill();
      context.globalAlpha = strength;
    }
    if (scene.sized && !tiny) fillUp(context, box, scene.fills[worker] ?? 0, palette.line);
    roundBox(context, box, radius);
    if (box.width > 4) {
      context.strokeStyle = palette.line;
      context.lineWidth = 1;
      context.stroke();
    }
  } else {
    const [color, alpha] = fill;
    context.fillStyle = color;
    const part = scene.fills[worker] ?? 1;
    context.globalAlpha = alpha * strength * (tiny ? (0.45 + 0.55 * part) * (isBlocked ? 0.6 : 1) : 0.3);
    context.fill();
    context.globalAlpha = alpha * strength * (isBlocked ? 0.45 : 1);
    if (!tiny) fillUp(context, box, Math.max(0.06, part), color);
  }
  context.globalAlpha = strength;
  if (worker === scene.worker) {
    roundBox(context, box, radius);
    context.strokeStyle = palette.text;
    context.lineWidth = 2;
    context.stroke();
  }
  if ((workers.actor_class[worker] ?? NONE) !== NONE && box.width > 6) {
    // A corner marks an actor.
    const side = Math.min(9, box.width / 3);
    context.beginPath();
    context.moveTo(box.x + box.width, box.y);
    context.lineTo(box.x + box.width - side, box.y);
    context.lineTo(box.x + box.width, box.y + side);
    context.fillStyle = palette.muted;
    context.fill();
  }
  if (box.width > 46 && box.height > 15)
    drawLabel(
      context,
      scene,
      worker,
      box,
      fill === null && !isBlocked ? palette.muted : ON_FILL[palette.scheme],
    );
  context.globalAlpha = 1;
}

/** Fills the lower part of the current path. */
function fillUp(context: CanvasRenderingContext2D, box: Box, part: number, color: string): void {
  context.save();
  context.clip();
  context.fillStyle = color;
  context.fillRect(box.x, box.y + box.height * (1 - part), box.width, box.height * part);
  context.restore();
}

function drawLabel(
  context: CanvasRenderingContext2D,
  scene: Scene,
  worker: number,
  box: Box,
  color: string,
): void {
  const [first, second] = labelOf(scene, worker);
  const lines = second !== '' && box.height > 28 ? [first, second] : [second === '' ? first : second];
  const isLarge = box.width > LARGE && box.height > LARGE / 2;
  context.fillStyle = color;
  context.font = isLarge ? LARGE_FONT : SMALL_FONT;
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  lines.forEach((line, at) => {
    const y = box.y + box.height / 2 + (at - (lines.length - 1) / 2) * (isLarge ? 17 : 12);
    context.fillText(fitText(context, line, box.width - 8), box.x + box.width / 2, y);
  });
  context.textAlign = 'left';
}

/** Outlines the slots of each bundle, row by row. An empty bundle has a dashed outline. */
function drawBundles(
  context: CanvasRenderingContext2D,
  scene: Scene,
  node: number,
  boxes: Box[],
  palette: Palette,
): void {
  const slots = scene.slots[node] ?? [];
  let at = 0;
  while (at < slots.length) {
    const { bundle, worker } = slots[at] ?? { bundle: NONE, worker: NONE };
    const first = boxes[at];
    let last = first;
    at += 1;
    if (bundle === NONE || first === undefined || last === undefined) continue;
    while (slots[at]?.bundle === bundle && boxes[at]?.y === first.y) {
      last = boxes[at] ?? last;
      at += 1;
    }
    const grown = Math.min(1.5, first.width * 0.06);
    context.beginPath();
    context.roundRect(
      first.x - grown,
      first.y - grown,
      last.x + last.width - first.x + 2 * grown,
      first.height + 2 * grown,
      Math.min(4, first.width / 5),
    );
    context.setLineDash(worker === NONE ? [3, 3] : []);
    context.strokeStyle = groupColor(scene.data.bundles[bundle]?.group ?? '', palette.scheme);
    context.lineWidth = first.width < 14 ? 1 : 2;
    context.globalAlpha = first.height < TINY ? 0.6 : 1;
    context.stroke();
    context.globalAlpha = 1;
    context.setLineDash([]);
    if (worker === NONE && first.width > 46 && first.height > 15) {
      context.font = SMALL_FONT;
      context.fillStyle = palette.muted;
      context.textAlign = 'center';
      context.textBaseline = 'middle';
      const text = fitText(context, scene.texts.bundle, first.width - 6);
      context.fillText(text, first.x + first.width / 2, first.y + first.height / 2);
      context.textAlign = 'left';
    }
  }
}

function roundBox(context: CanvasRenderingContext2D, box: Box, radius: number): void {
  context.beginPath();
  context.roundRect(box.x, box.y, Math.max(0.5, box.width), Math.max(0.5, box.height), Math.max(0, radius));
}
