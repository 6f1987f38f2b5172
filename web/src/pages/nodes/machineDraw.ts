import type { Box, Grid } from '../../base/grid';
import { fonts } from '../../base/tokens';
import { fitText, type Palette } from '../../ui/canvas';
import { percentText, toneOf } from '../../ui/Meter';
import {
  cellOf,
  headOf,
  type Machine,
  type MachineTexts,
  nodeValue,
  workerBoxes,
  workerLabel,
  workerValue,
} from './machine';

/** Height of a line of a worker's label, px. */
const LINE = 13;

/** The fill for a percentage: stronger for higher values, and in a warning colour for critical ones. */
export function shade(palette: Palette, value: number): [string, number] {
  const part = Math.min(1, Math.max(0, value / 100));
  return [palette.tone(toneOf(value)), 0.12 + 0.88 * part];
}

export function drawMachine(
  context: CanvasRenderingContext2D,
  machine: Machine,
  grid: Grid,
  palette: Palette,
  at: { node: number; worker: number; open: number },
  texts: MachineTexts,
): void {
  machine.order.forEach((node, place) => {
    const cell = cellOf(grid, place);
    const isDead = node >= machine.cells.nodes.node_id.length;
    const value = isDead ? null : nodeValue(machine, node);
    const head = headOf(cell);
    context.globalAlpha = 1;
    box(context, cell, Math.min(5, cell.width / 8));
    context.fillStyle = isDead ? palette.hover : palette.panel;
    context.fill();
    if (value !== null && !isDead) {
      const [fill, alpha] = shade(palette, value);
      context.fillStyle = fill;
      // A node with a head has a pale fill below its workers. A node without one has a stronger fill, because
      // nothing else shows its usage.
      context.globalAlpha = head > 0 ? alpha * 0.16 : alpha * 0.5;
      context.fill();
    }
    context.globalAlpha = 1;
    context.lineWidth = node === at.node || node === at.open ? 2 : 1;
    context.strokeStyle = node === at.node || node === at.open ? palette.tone('busy') : palette.line;
    context.stroke();
    if (isDead) cross(context, cell, palette.muted);
    if (head > 0) drawHead(context, machine, node, cell, head, value, palette, texts);
    if (isDead) return;
    const boxes = workerBoxes(machine, cell, node);
    (machine.workers[node] ?? []).forEach((worker, slot) => {
      const one = boxes[slot];
      if (one === undefined) return;
      const used = workerValue(machine, worker);
      box(context, one, Math.min(2, one.width / 5));
      if (used === null) {
        context.fillStyle = palette.lineSoft;
        context.fill();
      } else {
        const [fill, alpha] = shade(palette, used);
        context.fillStyle = palette.hover;
        context.fill();
        context.globalAlpha = alpha;
        context.fillStyle = fill;
        context.fill();
        context.globalAlpha = 1;
      }
      if (one.width > 7) {
        const isInternal = machine.cells.workers.is_internal[worker];
        context.setLineDash(isInternal ? [3, 2] : []);
        context.lineWidth = worker === at.worker ? 2 : isInternal ? 1 : 0.5;
        context.strokeStyle = worker === at.worker ? palette.text : isInternal ? palette.muted : palette.line;
        context.stroke();
        context.setLineDash([]);
      }
      if (one.width > 52 && one.height > 15)
        drawLabel(context, workerLabel(machine, worker, texts), one, used, palette);
    });
  });
}

function drawHead(
  context: CanvasRenderingContext2D,
  machine: Machine,
  node: number,
  cell: Box,
  head: number,
  value: number | null,
  palette: Palette,
  texts: MachineTexts,
): void {
  const { nodes } = machine.cells;
  const isDead = node >= nodes.node_id.length;
  if (value !== null) {
    const bar = head < 10 ? 3 : 2;
    const y = head < 10 ? cell.y + 1 : cell.y + head - 1;
    context.fillStyle = palette.lineSoft;
    context.fillRect(cell.x + 2, y, cell.width - 4, bar);
    context.fillStyle = palette.tone(toneOf(value));
    context.fillRect(cell.x + 2, y, (cell.width - 4) * Math.min(1, value / 100), bar);
  }
  if (head < 10) return;
  const number = isDead ? texts.dead : value === null ? texts.unknown : percentText(value);
  const name = machine.names[node] ?? '';
  context.textBaseline = 'middle';
  context.font = `${nodes.is_head[node] ? '600 ' : ''}10.5px ${fonts.text}`;
  context.fillStyle = isDead || value === null ? palette.muted : palette.text;
  context.textAlign = 'right';
  context.fillText(number, cell.x + cell.width - 5, cell.y + 9);
  const taken = context.measureText(number).width;
  context.textAlign = 'left';
  context.fillStyle = palette.muted;
  context.fillText(fitText(context, name, cell.width - taken - 16), cell.x + 5, cell.y + 9);
}

/** The label of a worker and its usage, as far as there is room. */
function drawLabel(
  context: CanvasRenderingContext2D,
  label: string[],
  of: Box,
  used: number | null,
  palette: Palette,
): void {
  context.font = `10px ${fonts.text}`;
  context.textBaseline = 'middle';
  context.textAlign = 'center';
  // Text on strong fills needs more contrast.
  context.fillStyle = used !== null && used > 45 ? '#ffffff' : palette.text;
  const room = Math.max(1, Math.floor((of.height - 4) / LINE));
  const lines = [...label, ...(used === null ? [] : [percentText(used)])]
    .slice(0, room)
    .map((line) => fitText(context, line, of.width - 8));
  lines.forEach((line, at) => {
    context.fillText(line, of.x + of.width / 2, of.y + of.height / 2 + (at - (lines.length - 1) / 2) * LINE);
  });
  context.textAlign = 'left';
}

function cross(context: CanvasRenderingContext2D, cell: Box, color: string): void {
  const side = Math.min(cell.width, cell.height) * 0.22;
  const [x, y] = [cell.x + cell.width / 2, cell.y + cell.height / 2 + Math.min(6, cell.height * 0.1)];
  context.beginPath();
  context.moveTo(x - side, y - side);
  context.lineTo(x + side, y + side);
  context.moveTo(x + side, y - side);
  context.lineTo(x - side, y + side);
  context.lineWidth = 1.5;
  context.strokeStyle = color;
  context.stroke();
}

export function box(context: CanvasRenderingContext2D, of: Box, radius: number): void {
  context.beginPath();
  context.roundRect(of.x, of.y, Math.max(0.5, of.width), Math.max(0.5, of.height), Math.max(0, radius));
}
