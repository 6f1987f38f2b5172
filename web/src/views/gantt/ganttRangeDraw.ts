/** Draws the chosen ranges of time and the cursor on top of the Gantt chart. */

import type { Palette, Size } from '../../ui/canvas';
import type { Span } from '../shared/span';
import { tickLabel } from './gantt';
import { AXIS, type Scene, xOf } from './ganttScene';

const HANDLE = 6;

/** Draws the chosen range filled, and the one kept for comparison as two dashed lines. */
export function drawRanges(
  context: CanvasRenderingContext2D,
  size: Size,
  scene: Pick<Scene, 'window' | 'left'>,
  look: Palette,
  range: Span | null,
  kept: Span | null,
): void {
  context.save();
  context.beginPath();
  context.rect(scene.left, 0, size.width - scene.left, size.height);
  context.clip();
  const edges = (span: Span): [number, number] => [xOf(scene, size, span.begin), xOf(scene, size, span.end)];
  const lines = (places: number[]) => {
    context.beginPath();
    for (const x of places) {
      context.moveTo(Math.round(x) + 0.5, 0);
      context.lineTo(Math.round(x) + 0.5, size.height);
    }
    context.stroke();
  };
  if (kept !== null) {
    context.strokeStyle = look.tone('waiting');
    context.lineWidth = 1;
    context.setLineDash([5, 4]);
    lines(edges(kept));
    context.setLineDash([]);
  }
  if (range !== null) {
    const [x0, x1] = edges(range);
    context.fillStyle = look.tone('busy');
    context.globalAlpha = look.scheme === 'light' ? 0.1 : 0.16;
    context.fillRect(x0, 0, x1 - x0, size.height);
    context.globalAlpha = 1;
    context.strokeStyle = look.tone('busy');
    context.lineWidth = 1;
    lines([x0, x1]);
    for (const [x, way] of [
      [x0, 1],
      [x1, -1],
    ] as const) {
      context.beginPath();
      context.moveTo(x, 0);
      context.lineTo(x + way * HANDLE, 0);
      context.lineTo(x, HANDLE);
      context.fill();
    }
  }
  context.restore();
}

/** Draws a line at the time of the cursor, with the time on the axis. */
export function drawCursor(
  context: CanvasRenderingContext2D,
  size: Size,
  scene: Pick<Scene, 'window' | 'left'>,
  look: Palette,
  at: number,
): void {
  const x = Math.round(xOf(scene, size, at)) + 0.5;
  if (x < scene.left) return;
  context.strokeStyle = look.text;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(x, AXIS - 6);
  context.lineTo(x, size.height);
  context.stroke();
  const { begin, end } = scene.window;
  const label = tickLabel(at, Math.max(1, (end - begin) / 200), Math.max(Math.abs(begin), Math.abs(end)));
  const width = context.measureText(label).width + 8;
  const left = Math.min(x, size.width - width);
  context.fillStyle = look.text;
  context.fillRect(left, 2, width, AXIS - 6);
  context.fillStyle = look.panel;
  context.fillText(label, left + 4, AXIS / 2 - 1);
}
