import type { FlameFrame } from '../../api/schema';
import { fitText, ON_FILL, type Palette, type Size } from '../../ui/canvas';
import { type Box, edges, type Node } from './flame';

const MIN_ROW = 24;
export const MAX_ROW = 40;

/** Height of a row, px. Rows are higher if there are only a few. */
export const rowHeight = (rows: number, height: number) =>
  Math.min(MAX_ROW, Math.max(MIN_ROW, Math.floor(height / Math.max(1, rows))));

const FONT = '12px Inter, system-ui, "Noto Sans", "Noto Sans CJK SC", sans-serif';
const PAD = 6;

export interface Look {
  palette: Palette;
  boxes: Box[];
  /** Height of a row, px. */
  row: number;
  /** Scroll offset of the rows, px. */
  top: number;
  /** The row of the zoomed frame. Rows above it are pale. */
  zoomedRow: number;
  matches: ((frame: FlameFrame) => boolean) | null;
  pointed: string | null;
  /** The function of the selected task. */
  selected: string | null;
  /** The change of a frame's value from -1 to 1; null if it is not compared. */
  changeOf: (frame: FlameFrame) => number | null;
  /** Whether only one of two compared runs has a frame. */
  isOneSided: (frame: FlameFrame) => boolean;
  nameOf: (frame: FlameFrame) => string;
  valueOf: (node: Node) => string;
}

export function drawFlame(context: CanvasRenderingContext2D, size: Size, look: Look): void {
  const { palette, row } = look;
  context.fillStyle = palette.panel;
  context.fillRect(0, 0, size.width, size.height);
  context.font = FONT;
  context.textBaseline = 'middle';
  for (const box of look.boxes) {
    const y = box.row * row - look.top;
    if (y > size.height || y + row < 0) continue;
    const { left: x, right } = edges(box, size.width);
    if (right === x) continue;
    // Keep a gap to the neighbour, unless the box itself is only a line.
    const width = right - x - (right - x > 3 ? 1 : 0);
    const { frame } = box.node;
    const hit = look.matches?.(frame) ?? null;
    context.globalAlpha = hit === false ? 0.28 : box.row < look.zoomedRow ? 0.62 : 1;
    paint(context, look, box.node, x, y, width);
    if (look.selected !== null && frame.name === look.selected && width > 6) {
      context.globalAlpha = 1;
      context.fillStyle = palette.tone('busy');
      context.fillRect(x, y, Math.min(4, width / 2), row - 1);
    }
    if (hit || look.pointed === frame.id) {
      context.globalAlpha = 1;
      context.strokeStyle = look.pointed === frame.id ? palette.text : palette.tone('busy');
      context.lineWidth = hit && look.pointed !== frame.id ? 2 : 1.5;
      if (width > 4) context.strokeRect(x + 1, y + 1, width - 2, row - 3);
    }
  }
  context.globalAlpha = 1;
}

function paint(
  context: CanvasRenderingContext2D,
  look: Look,
  node: Node,
  x: number,
  y: number,
  width: number,
): void {
  const { palette, row } = look;
  const { frame } = node;
  const changed = look.changeOf(frame);
  const plain = frame.kind !== 'call' || frame.name === null;
  context.fillStyle = plain || changed !== null ? palette.line : palette.named(frame.name ?? '');
  context.fillRect(x, y, width, row - 1);
  if (changed !== null && Math.abs(changed) >= 0.005) {
    const alpha = context.globalAlpha;
    context.globalAlpha = alpha * (0.15 + 0.5 * Math.abs(changed));
    context.fillStyle = palette.tone(changed > 0 ? 'bad' : 'busy');
    context.fillRect(x, y, width, row - 1);
    context.globalAlpha = alpha;
  }
  if (look.isOneSided(frame) && width > 6) {
    context.strokeStyle = palette.text;
    context.lineWidth = 1.5;
    context.setLineDash([4, 3]);
    context.strokeRect(x + 1.5, y + 1.5, width - 3, row - 4);
    context.setLineDash([]);
  }
  const room = width - 2 * PAD;
  if (room < 12) return;
  context.fillStyle = plain || changed !== null ? palette.text : ON_FILL[palette.scheme];
  const name = look.nameOf(frame);
  const shown = fitText(context, name, room);
  if (shown === '') return;
  context.fillText(shown, x + PAD, y + row / 2);
  if (shown !== name) return;
  const value = look.valueOf(node);
  const taken = context.measureText(name).width + context.measureText(value).width + 14;
  if (taken > room) return;
  context.globalAlpha *= 0.75;
  context.textAlign = 'right';
  context.fillText(value, x + width - PAD, y + row / 2);
  context.textAlign = 'left';
}
