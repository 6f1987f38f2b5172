/** Draws the rows of the Gantt chart without their bars: names, fold buttons, and utilisation of nodes. */

import type { SeverityTone } from '../../ui/alerts/severity';
import { fitText, type Palette, type Size } from '../../ui/canvas';
import { ROW } from './gantt';
import { drawBand, drawProfile } from './ganttBandDraw';
import { type LayoutRow, rowAt } from './ganttLayout';
import { type Scene, sectionOf, yOf } from './ganttScene';

/** Width of the pin at the right of a name, and of the fold button at its left, px. */
export const PIN_WIDTH = 24;
export const FOLD_WIDTH = 20;
/** Width of the finding's mark, left of the pin, px. */
export const MARK_WIDTH = 16;

function visibleRows(scene: Scene, size: Size, pinned: boolean): { row: LayoutRow; y: number }[] {
  const { from, to } = sectionOf(scene, size, pinned);
  const rows = pinned ? scene.layout.pinned : scene.layout.rows;
  const visible = [];
  for (let at = Math.max(0, rowAt(rows, pinned ? 0 : scene.scroll)); at < rows.length; at += 1) {
    const row = rows[at] as LayoutRow;
    const y = yOf(scene, row);
    if (y > to) break;
    if (y + row.height >= from) visible.push({ row, y });
  }
  return visible;
}

export function drawLabels(
  context: CanvasRenderingContext2D,
  size: Size,
  scene: Scene,
  look: Palette,
  pinned: boolean,
): void {
  const { from } = sectionOf(scene, size, pinned);
  for (const { row, y } of visibleRows(scene, size, pinned)) {
    if (row.kind === 'node') {
      context.fillStyle = look.hover;
      context.fillRect(0, y, size.width, row.height);
    }
    context.fillStyle = look.lineSoft;
    context.fillRect(0, Math.round(y + row.height) - 1, size.width, 1);
    const label = scene.labels(row);
    if (label === undefined) continue;
    // The label of a tall lane stays visible while scrolling.
    const inset = row.kind === 'lane' ? ROW / 2 + 2 : row.height / 2;
    const middle = Math.max(y, Math.min(from, y + row.height - ROW - 4)) + inset;
    if (row.folds) drawChevron(context, look, middle, row.folded);
    const isHovered = scene.hoveredRow?.key === row.key && row.kind === 'lane';
    const taken = label.tone !== undefined ? PIN_WIDTH + MARK_WIDTH : isHovered || row.pinned ? PIN_WIDTH : 4;
    const room = scene.left - FOLD_WIDTH - taken;
    context.fillStyle = row.kind === 'quiet' ? look.muted : look.text;
    const text = fitText(context, label.text, room);
    context.fillText(text, FOLD_WIDTH, middle);
    const used = context.measureText(text).width + 8;
    context.fillStyle = look.muted;
    context.fillText(fitText(context, label.detail, room - used), FOLD_WIDTH + used, middle);
    if (label.tone !== undefined)
      drawMark(context, look, scene.left - PIN_WIDTH - MARK_WIDTH / 2, middle, label.tone);
    if (isHovered || row.pinned) drawPin(context, look, scene.left - PIN_WIDTH / 2 - 2, middle, row.pinned);
  }
}

export function drawRows(
  context: CanvasRenderingContext2D,
  size: Size,
  scene: Scene,
  look: Palette,
  pinned: boolean,
): void {
  for (const { row, y } of visibleRows(scene, size, pinned)) {
    if (row.kind === 'lane' && row.folded) drawBand(context, size, scene, look, row, y);
    if (row.kind !== 'node') continue;
    const profile = scene.nodeProfile(row.lane);
    if (profile === null) continue;
    context.fillStyle = look.tone('busy');
    context.globalAlpha = 0.5;
    drawProfile(context, size, scene, profile, y + 5, row.height - 6);
    context.globalAlpha = 1;
  }
}

function drawChevron(context: CanvasRenderingContext2D, look: Palette, y: number, folded: boolean): void {
  context.strokeStyle = look.muted;
  context.lineWidth = 1.5;
  context.beginPath();
  const points = folded ? [8, -4, 12, 0, 8, 4] : [6, -2, 10, 2, 14, -2];
  context.moveTo(points[0] as number, y + (points[1] as number));
  context.lineTo(points[2] as number, y + (points[3] as number));
  context.lineTo(points[4] as number, y + (points[5] as number));
  context.stroke();
}

/** Draws a small warning sign in the tone of the finding. */
function drawMark(
  context: CanvasRenderingContext2D,
  look: Palette,
  x: number,
  y: number,
  tone: SeverityTone,
): void {
  context.strokeStyle = look.tone(tone);
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(x, y - 5);
  context.lineTo(x + 5.5, y + 4.5);
  context.lineTo(x - 5.5, y + 4.5);
  context.closePath();
  context.moveTo(x, y - 1.5);
  context.lineTo(x, y + 2);
  context.stroke();
}

/** Draws a pin, filled if its lane is pinned. */
function drawPin(
  context: CanvasRenderingContext2D,
  look: Palette,
  x: number,
  y: number,
  pinned: boolean,
): void {
  context.strokeStyle = look.text;
  context.fillStyle = look.text;
  context.lineWidth = 1.2;
  context.beginPath();
  context.rect(x - 3, y - 6, 6, 6);
  if (pinned) context.fill();
  context.stroke();
  context.beginPath();
  context.moveTo(x - 5, y);
  context.lineTo(x + 5, y);
  context.moveTo(x, y);
  context.lineTo(x, y + 6);
  context.stroke();
}
