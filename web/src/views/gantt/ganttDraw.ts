/** Draws a scene of the Gantt chart on a canvas. */

import { fitText, ON_FILL, type Palette, type Size } from '../../ui/canvas';
import { BAR, ROW, tickLabel, ticksOf } from './gantt';
import { drawBars } from './ganttBarDraw';
import { drawLabels, drawRows } from './ganttRowDraw';
import { AXIS, PATH_ROW, type Scene, sectionOf, xOf, yOf } from './ganttScene';

const FONT = '11px Inter, system-ui, sans-serif';

export function drawGantt(context: CanvasRenderingContext2D, size: Size, scene: Scene, look: Palette): void {
  context.font = FONT;
  context.textBaseline = 'middle';
  const { step, at } = ticksOf(scene.window, size.width - scene.left);
  drawTicks(context, size, scene, look, at);
  for (const pinned of [false, true]) {
    const { from, to } = sectionOf(scene, size, pinned);
    if (to <= from) continue;
    context.save();
    context.beginPath();
    context.rect(0, from, size.width, to - from);
    context.clip();
    drawLabels(context, size, scene, look, pinned);
    context.beginPath();
    context.rect(scene.left, from, size.width - scene.left, to - from);
    context.clip();
    drawRows(context, size, scene, look, pinned);
    drawBars(context, size, scene, look, pinned);
    context.restore();
  }
  if (scene.layout.pinned.length > 0) {
    const y = scene.top + scene.layout.pinnedHeight;
    context.fillStyle = look.muted;
    context.fillRect(0, y - 1, size.width, 1);
  }
  context.save();
  context.beginPath();
  context.rect(scene.left, scene.top, size.width - scene.left, size.height - scene.top);
  context.clip();
  drawArrows(context, size, scene, look);
  context.restore();
  drawAxis(context, size, scene, look, at, step);
  if (scene.path) drawPath(context, size, scene, look, scene.path);
}

function drawTicks(
  context: CanvasRenderingContext2D,
  size: Size,
  scene: Scene,
  look: Palette,
  ticks: number[],
): void {
  context.strokeStyle = look.lineSoft;
  context.lineWidth = 1;
  context.beginPath();
  for (const tick of ticks) {
    const x = Math.round(xOf(scene, size, tick)) + 0.5;
    if (x < scene.left) continue;
    context.moveTo(x, scene.top);
    context.lineTo(x, size.height);
  }
  context.stroke();
}

function drawArrows(context: CanvasRenderingContext2D, size: Size, scene: Scene, look: Palette): void {
  const { data, shift } = scene;
  const middle = (bar: number) => {
    const row = scene.layout.byLane.get((data.bars.lane[bar] as number) + data.lanes_from);
    if (row === undefined) return scene.top;
    return (
      yOf(scene, row) + (row.folded ? row.height / 2 : (data.bars.row[bar] as number) * ROW + 4 + BAR / 2)
    );
  };
  for (const { from, to, kind, at } of scene.arrows) {
    const start = kind === 'data' ? (data.bars.end[from] as number) : (data.bars.begin[from] as number);
    const x1 = xOf(scene, size, (at ?? (data.bars.begin[to] as number)) + shift);
    const x0 = kind === 'data' ? Math.min(xOf(scene, size, start + shift), x1) : x1 - 12;
    const y0 = middle(from);
    const y1 = middle(to);
    context.strokeStyle = look.tone(kind === 'data' ? 'good' : 'busy');
    context.fillStyle = context.strokeStyle;
    context.lineWidth = 1.25;
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0 + 8, y0, x1 - 16, y1, x1 - 4, y1);
    context.stroke();
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x1 - 6, y1 - 3);
    context.lineTo(x1 - 6, y1 + 3);
    context.fill();
  }
}

function drawAxis(
  context: CanvasRenderingContext2D,
  size: Size,
  scene: Scene,
  look: Palette,
  ticks: number[],
  step: number,
): void {
  context.fillStyle = look.muted;
  const largest = Math.max(0, ...ticks.map((tick) => Math.abs(tick - scene.zero)));
  for (const tick of ticks) {
    const x = xOf(scene, size, tick) + 4;
    const label = tickLabel(tick - scene.zero, step, largest);
    if (x >= scene.left && x + context.measureText(label).width <= size.width)
      context.fillText(label, x, AXIS / 2);
  }
  context.strokeStyle = look.line;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(0, scene.top - 0.5);
  context.lineTo(size.width, scene.top - 0.5);
  context.moveTo(scene.left - 0.5, 0);
  context.lineTo(scene.left - 0.5, size.height);
  context.stroke();
}

/** Draws the critical path as a row under the axis, with its phases over time. */
function drawPath(
  context: CanvasRenderingContext2D,
  size: Size,
  scene: Scene,
  look: Palette,
  path: NonNullable<Scene['path']>,
): void {
  const y = AXIS + 3;
  const height = PATH_ROW - 7;
  context.fillStyle = look.text;
  context.fillText(fitText(context, path.label, scene.left - 20), 12, y + height / 2);
  context.save();
  context.beginPath();
  context.rect(scene.left, AXIS, size.width - scene.left, PATH_ROW);
  context.clip();
  for (const link of path.links) {
    const x0 = xOf(scene, size, link.begin_ns + path.shift);
    const x1 = xOf(scene, size, link.end_ns + path.shift);
    if (x1 < scene.left || x0 > size.width) continue;
    const width = Math.max(1, x1 - x0);
    const works = link.phase === 'executing';
    context.fillStyle = link.name === '' ? look.lineSoft : look.named(link.name);
    context.fillRect(x0, works ? y : y + height / 2 - 2, width, works ? height : 4);
    if (works && width > 30) {
      context.fillStyle = ON_FILL[look.scheme];
      const from = Math.max(x0, scene.left);
      context.fillText(fitText(context, link.name, x1 - from - 8), from + 4, y + height / 2 + 0.5);
    }
  }
  context.restore();
}
