/** Draws the Gantt chart: nothing but pixels of what is told. */

import type { PathLink } from '../../api/criticalPath';
import { fitText, ON_FILL, type Palette, type Size } from '../../ui/canvas';
import type { Span } from '../shared/span';
import { ROW, tickLabel, ticksOf } from './gantt';
import type { Gantt } from './ganttData';

export const AXIS = 24;
export const PATH_ROW = 22;
const BAR = ROW - 3;
const FONT = '11px Inter, system-ui, sans-serif';

export interface Arrow {
  from: number;
  to: number;
  kind: 'parent' | 'data';
  /** When it came, if not at the begin: ns after `origin_ns`. */
  at?: number;
}

export interface Scene {
  data: Gantt;
  /** What is added to times of the data to get times of the window. */
  shift: number;
  window: Span;
  /** Time 0 of the labels. */
  zero: number;
  tops: number[];
  scroll: number;
  left: number;
  top: number;
  labels: (lane: number) => { text: string; beside: string } | undefined;
  selected: number;
  hovered: number;
  /** The detail of each bar that has one. */
  detail: Map<number, number>;
  /** The blocked stretches of each bar. */
  blocked: Map<number, number[]>;
  path: { links: PathLink[]; shift: number; bars: Set<number>; label: string } | null;
  arrows: Arrow[];
  /** Which names were searched for, or null. */
  matches: ((name: string) => boolean) | null;
}

/** Where a time of the window is. */
export function xOf(scene: Pick<Scene, 'window' | 'left'>, size: Size, ns: number): number {
  const { begin, end } = scene.window;
  return scene.left + ((ns - begin) / (end - begin)) * (size.width - scene.left);
}

export function drawGantt(context: CanvasRenderingContext2D, size: Size, scene: Scene, look: Palette): void {
  context.font = FONT;
  context.textBaseline = 'middle';
  const { step, at } = ticksOf(scene.window, size.width - scene.left);
  drawLanes(context, size, scene, look, at);
  context.save();
  context.beginPath();
  context.rect(scene.left, scene.top, size.width - scene.left, size.height - scene.top);
  context.clip();
  drawBars(context, size, scene, look);
  drawArrows(context, size, scene, look);
  context.restore();
  drawAxis(context, size, scene, look, at, step);
  if (scene.path) drawPath(context, size, scene, look, scene.path);
}

function drawLanes(
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
  for (let lane = 0; lane + 1 < scene.tops.length; lane += 1) {
    const y = scene.top + (scene.tops[lane + 1] as number) - scene.scroll;
    if (y < scene.top) continue;
    if (y > size.height + 400) break;
    context.moveTo(0, Math.round(y) - 0.5);
    context.lineTo(size.width, Math.round(y) - 0.5);
  }
  context.stroke();
  context.save();
  context.beginPath();
  context.rect(0, scene.top, scene.left - 8, size.height - scene.top);
  context.clip();
  for (let lane = 0; lane + 1 < scene.tops.length; lane += 1) {
    const begin = scene.top + (scene.tops[lane] as number) - scene.scroll;
    const end = scene.top + (scene.tops[lane + 1] as number) - scene.scroll;
    if (end < scene.top) continue;
    if (begin > size.height) break;
    const label = scene.labels(lane);
    if (label === undefined) continue;
    // The label of a tall lane stays in sight.
    const y = Math.max(begin, Math.min(scene.top, end - ROW - 4)) + ROW / 2 + 2;
    context.fillStyle = look.text;
    const text = fitText(context, label.text, scene.left - 20);
    context.fillText(text, 12, y);
    context.fillStyle = look.muted;
    const used = 12 + context.measureText(text).width + 8;
    context.fillText(fitText(context, label.beside, scene.left - used - 8), used, y);
  }
  context.restore();
}

function drawBars(context: CanvasRenderingContext2D, size: Size, scene: Scene, look: Palette): void {
  const { data, shift } = scene;
  const { bars } = data;
  const place = (bar: number) => {
    const lane = (bars.lane[bar] as number) + data.lanes_from;
    const top = scene.tops[lane];
    if (top === undefined) return null;
    const y = scene.top + top + (bars.row[bar] as number) * ROW - scene.scroll + 4;
    if (y > size.height || y + BAR < scene.top) return null;
    const x0 = xOf(scene, size, (bars.begin[bar] as number) + shift);
    const x1 = xOf(scene, size, (bars.end[bar] as number) + shift);
    if (x1 < scene.left - 2 || x0 > size.width + 2) return null;
    const x = Math.max(scene.left - 4, x0);
    return { x, y, width: Math.max(1, Math.min(size.width + 4, x1) - x) };
  };
  for (let bar = 0; bar < bars.lane.length; bar += 1) {
    const box = place(bar);
    if (box === null) continue;
    const hit = scene.matches?.(data.names[bars.name[bar] as number] ?? '') ?? null;
    const faded = (scene.path !== null && !scene.path.bars.has(bar)) || hit === false;
    drawBar(context, size, scene, look, bar, box, faded);
    if (hit && box.width > 3) {
      context.strokeStyle = look.tone('busy');
      context.lineWidth = 1.5;
      context.strokeRect(box.x + 0.5, box.y + 0.5, box.width - 1, BAR - 1);
    }
  }
  for (const [bar, width] of [
    [scene.hovered, 1],
    [scene.selected, 2],
  ] as const) {
    const box = bar < 0 ? null : place(bar);
    if (box === null) continue;
    drawWaiting(context, size, scene, look, bar, box.y);
    context.strokeStyle = look.text;
    context.lineWidth = width;
    context.strokeRect(box.x - 1, box.y - 1, box.width + 2, BAR + 2);
  }
}

function drawBar(
  context: CanvasRenderingContext2D,
  size: Size,
  scene: Scene,
  look: Palette,
  bar: number,
  { x, y, width }: { x: number; y: number; width: number },
  faded: boolean,
): void {
  const { data, shift } = scene;
  const { bars } = data;
  const name = data.names[bars.name[bar] as number] ?? '';
  const state = data.states[bars.state[bar] as number];
  const merged = (bars.count[bar] as number) > 1;
  const waiting = data.lanes[bars.lane[bar] as number]?.kind === 'not_placed';
  const length = Math.max(1, (bars.end[bar] as number) - (bars.begin[bar] as number));
  const dense = merged ? Math.min(1, 0.35 + (0.65 * (bars.busy[bar] as number)) / length) : 1;
  context.globalAlpha = (faded ? 0.22 : 1) * dense * (waiting ? 0.55 : 1);
  if (state === 'running' && !merged && width > 8) {
    const fade = context.createLinearGradient(x + width - Math.min(40, width / 2), 0, x + width, 0);
    fade.addColorStop(0, look.named(name));
    fade.addColorStop(1, 'transparent');
    context.fillStyle = fade;
  } else context.fillStyle = look.named(name);
  context.fillRect(x, y, width, BAR);
  const lighter = (from: number, to: number) => {
    const begin = Math.max(x, xOf(scene, size, from + shift));
    const end = Math.min(x + width, xOf(scene, size, to + shift));
    if (end - begin >= 1) context.fillRect(begin, y + 2, end - begin, BAR - 4);
  };
  const detail = scene.detail.get(bar);
  const origin = bars.begin[bar] as number;
  context.fillStyle = look.panel;
  if (detail !== undefined && !waiting) {
    context.globalAlpha *= 0.5;
    const executing = data.details.executing[detail];
    const storing = data.details.storing[detail];
    if (executing) lighter(origin, origin + executing);
    if (storing) lighter(origin + storing, bars.end[bar] as number);
    context.globalAlpha *= 2;
  }
  context.globalAlpha *= 0.72;
  for (const at of scene.blocked.get(bar) ?? [])
    lighter(data.blocked.begin[at] as number, data.blocked.end[at] as number);
  context.globalAlpha = faded ? 0.22 : 1;
  if ((bars.failed[bar] as number) > 0) drawFailed(context, look, x, y, width, merged);
  const retry = merged ? 0 : (bars.attempt[bar] as number);
  if (retry > 0 && width >= 5) {
    context.fillStyle = look.tone('waiting');
    context.fillRect(x, y, 3, BAR);
  }
  if (width > 34 && !faded) {
    context.fillStyle = ON_FILL[look.scheme];
    const text = `${retry > 0 ? `↻${retry} ` : ''}${name}${merged ? ` ×${bars.count[bar]}` : ''}`;
    context.fillText(fitText(context, text, width - 8), x + (retry > 0 ? 6 : 4), y + BAR / 2 + 0.5);
  }
  context.globalAlpha = 1;
}

function drawFailed(
  context: CanvasRenderingContext2D,
  look: Palette,
  x: number,
  y: number,
  width: number,
  merged: boolean,
): void {
  context.strokeStyle = look.tone('bad');
  context.fillStyle = look.tone('bad');
  context.lineWidth = 1.5;
  if (merged || width < 8) {
    context.fillRect(x, y + BAR - 4, width, 4);
    return;
  }
  context.strokeRect(x + 0.75, y + 0.75, width - 1.5, BAR - 1.5);
  context.save();
  context.beginPath();
  context.rect(x, y, width, BAR);
  context.clip();
  context.lineWidth = 1;
  context.globalAlpha *= 0.45;
  context.beginPath();
  for (let at = x - BAR; at < x + width; at += 7) {
    context.moveTo(at, y + BAR);
    context.lineTo(at + BAR, y);
  }
  context.stroke();
  context.restore();
}

/** The time before an attempt came to its worker, in its phases. */
function drawWaiting(
  context: CanvasRenderingContext2D,
  size: Size,
  scene: Scene,
  look: Palette,
  bar: number,
  y: number,
): void {
  const detail = scene.detail.get(bar);
  if (detail === undefined) return;
  const { details, bars } = scene.data;
  const begin = (bars.begin[bar] as number) + scene.shift;
  const parts: [number | null | undefined, string][] = [
    [details.created[detail], look.tone('quiet')],
    [details.waiting_node[detail], look.tone('waiting')],
    [details.queued[detail], look.tone('busy')],
  ];
  parts.forEach(([offset, color], at) => {
    if (offset === null || offset === undefined || offset >= 0) return;
    const next = parts.slice(at + 1).find(([later]) => later !== null && later !== undefined)?.[0] ?? 0;
    const x0 = xOf(scene, size, begin + offset);
    const x1 = xOf(scene, size, begin + Math.min(0, next));
    context.fillStyle = color;
    context.fillRect(x0, y + BAR / 2 - 2, x1 - x0, 4);
  });
}

function drawArrows(context: CanvasRenderingContext2D, size: Size, scene: Scene, look: Palette): void {
  const { data, shift } = scene;
  const middle = (bar: number) =>
    scene.top +
    (scene.tops[(data.bars.lane[bar] as number) + data.lanes_from] ?? 0) +
    (data.bars.row[bar] as number) * ROW -
    scene.scroll +
    4 +
    BAR / 2;
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

/** The path as a row of its own under the axis: what it consists of at every time. */
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

export function drawUtilisation(
  context: CanvasRenderingContext2D,
  size: Size,
  utilisation: NonNullable<Gantt['utilisation']>,
  span: number,
  look: Palette,
): void {
  const most = Math.max(...utilisation.running, 1e-9);
  context.fillStyle = look.tone('busy');
  context.globalAlpha = 0.55;
  utilisation.running.forEach((mean, bucket) => {
    const x0 = ((bucket * utilisation.bucket_ns) / span) * size.width;
    const x1 = Math.min(1, ((bucket + 1) * utilisation.bucket_ns) / span) * size.width;
    const height = (mean / most) * (size.height - 4);
    context.fillRect(x0, size.height - height, Math.max(1, x1 - x0 + 0.5), height);
  });
  context.globalAlpha = 1;
}
