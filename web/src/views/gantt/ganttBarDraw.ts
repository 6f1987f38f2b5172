/** Draws the bars of the Gantt chart. */

import type { GanttAnswer } from '../../api/schema';
import { drawPaused, fitText, ON_FILL, PAUSED, type Palette, type Size } from '../../ui/canvas';
import { BAR, ROW } from './gantt';
import { drawProfile, FADED } from './ganttBandDraw';
import { barFill } from './ganttMemory';
import { type Profile, profileOf } from './ganttProfile';
import { type Scene, sectionOf, xOf, yOf } from './ganttScene';

/** Draws the bars of the pinned lanes or, if `pinned` is false, of the others. */
export function drawBars(
  context: CanvasRenderingContext2D,
  size: Size,
  scene: Scene,
  look: Palette,
  pinned: boolean,
): void {
  const { data, shift } = scene;
  const { bars } = data;
  const { from, to } = sectionOf(scene, size, pinned);
  const place = (bar: number) => {
    const row = scene.layout.byLane.get((bars.lane[bar] as number) + data.lanes_from);
    if (row === undefined || row.pinned !== pinned) return null;
    const y = yOf(scene, row) + (row.folded ? 0 : (bars.row[bar] as number) * ROW) + 4;
    const height = row.folded ? row.height - 9 : BAR;
    if (y > to || y + height < from) return null;
    const x0 = xOf(scene, size, (bars.begin[bar] as number) + shift);
    const x1 = xOf(scene, size, (bars.end[bar] as number) + shift);
    if (x1 < scene.left - 2 || x0 > size.width + 2) return null;
    const x = Math.max(scene.left - 4, x0);
    return { x, y, height, row, width: Math.max(1, Math.min(size.width + 4, x1) - x) };
  };
  for (let bar = 0; bar < bars.lane.length; bar += 1) {
    const box = place(bar);
    if (box === null || box.row.folded || isQueued(data, bar)) continue;
    const hit = scene.matches?.(data.names[bars.name[bar] as number] ?? '') ?? null;
    const faded = (scene.path !== null && !scene.path.bars.has(bar)) || hit === false;
    drawBar(context, size, scene, look, bar, box, faded);
    if (scene.path?.bars.has(bar)) {
      context.fillStyle = look.text;
      context.fillRect(box.x, box.y + BAR, box.width, 2);
    }
    if (hit && box.width > 3) {
      context.strokeStyle = look.tone('busy');
      context.lineWidth = 1.5;
      context.strokeRect(box.x + 0.5, box.y + 0.5, box.width - 1, BAR - 1);
    }
  }
  // The height shows the length of the queue, so that its growth is visible.
  for (const { bar, profile } of queuesOf(data)) {
    const box = place(bar);
    if (box === null) continue;
    context.globalAlpha = 0.4;
    context.fillStyle = scene.byMemory
      ? barFill(scene, look, bar)
      : look.named(data.names[profile.name] ?? '');
    drawProfile(context, size, scene, profile, box.y, box.height);
    context.globalAlpha = 1;
  }
  for (const bar of scene.paused) {
    const box = place(bar);
    if (box === null) continue;
    // At the end of the bar as far as it is visible. That of a thin bar covers what is right of it.
    const x = Math.max(box.x, scene.left, box.x + box.width - PAUSED - 3);
    drawPaused(context, look, Math.min(x, size.width - PAUSED - 3), box.y + (box.height - PAUSED) / 2);
  }
  for (const [bar, width] of [
    [scene.hovered, 1],
    [scene.selected, 2],
  ] as const) {
    const box = bar < 0 ? null : place(bar);
    if (box === null) continue;
    if (!box.row.folded) drawWaiting(context, size, scene, look, bar, box.y);
    context.strokeStyle = look.text;
    context.lineWidth = width;
    context.strokeRect(box.x - 1, box.y - 1, box.width + 2, box.height + 2);
  }
}

const isQueued = (data: GanttAnswer, bar: number) =>
  data.states[data.bars.state[bar] as number] === 'waiting' &&
  data.lanes[data.bars.lane[bar] as number]?.kind !== 'not_placed';

const queues = new WeakMap<GanttAnswer, { bar: number; profile: Profile }[]>();

/**
 * For each lane with a queue: the number of calls that waited over time, and the bar at which the queue is
 * drawn.
 */
function queuesOf(data: GanttAnswer): { bar: number; profile: Profile }[] {
  let found = queues.get(data);
  if (found === undefined) {
    const ofLane = new Map<number, number[]>();
    data.bars.lane.forEach((lane, bar) => {
      if (!isQueued(data, bar)) return;
      const others = ofLane.get(lane);
      if (others) others.push(bar);
      else ofLane.set(lane, [bar]);
    });
    found = [...ofLane.values()].map((bars) => ({
      bar: bars[0] as number,
      profile: profileOf(data.bars, bars),
    }));
    queues.set(data, found);
  }
  return found;
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
  const fill = barFill(scene, look, bar);
  const merged = (bars.count[bar] as number) > 1;
  const lane = data.lanes[bars.lane[bar] as number];
  const waiting = lane?.kind === 'not_placed';
  const length = Math.max(1, (bars.end[bar] as number) - (bars.begin[bar] as number));
  const dense = merged ? Math.min(1, 0.35 + (0.65 * (bars.busy[bar] as number)) / length) : 1;
  context.globalAlpha = (faded ? FADED : 1) * dense * (waiting ? 0.55 : 1);
  if (state === 'running' && !merged && width > 8) {
    const fade = context.createLinearGradient(x + width - Math.min(40, width / 2), 0, x + width, 0);
    fade.addColorStop(0, fill);
    fade.addColorStop(1, 'transparent');
    context.fillStyle = fade;
  } else context.fillStyle = fill;
  context.fillRect(x, y, width, BAR);
  const lighter = (from: number, to: number) => {
    const begin = Math.max(x, xOf(scene, size, from + shift));
    const end = Math.min(x + width, xOf(scene, size, to + shift));
    if (end - begin >= 1) context.fillRect(begin, y + 2, end - begin, BAR - 4);
  };
  // A suspended coroutine is as pale as a blocked attempt, with a line through it.
  const midline = (from: number, to: number) => {
    const first = Math.max(x, xOf(scene, size, from + shift));
    const last = Math.min(x + width, xOf(scene, size, to + shift));
    const panel = context.fillStyle;
    context.fillStyle = fill;
    if (last - first >= 1) context.fillRect(first, y + BAR / 2 - 1, last - first, 2);
    context.fillStyle = panel;
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
  const { begin, end, is_awaiting } = data.blocked;
  for (const at of scene.blocked.get(bar) ?? []) {
    lighter(begin[at] as number, end[at] as number);
    if (is_awaiting[at]) midline(begin[at] as number, end[at] as number);
  }
  context.globalAlpha = faded ? FADED : 1;
  if ((bars.failed[bar] as number) > 0) drawFailed(context, look, x, y, width, merged);
  const retry = merged ? 0 : (bars.attempt[bar] as number);
  if (retry > 0 && width >= 5) {
    context.fillStyle = look.tone('waiting');
    context.fillRect(x, y, 3, BAR);
  }
  if (width > 34 && !faded) {
    context.fillStyle = ON_FILL[look.scheme];
    const text = `${retry > 0 ? `↻${retry} ` : ''}${name}${merged ? ` ×${bars.count[bar]}` : ''}`;
    const room = width - 8 - (scene.paused.has(bar) ? PAUSED : 0);
    context.fillText(fitText(context, text, room), x + (retry > 0 ? 6 : 4), y + BAR / 2 + 0.5);
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

/** Draws the phases of an attempt before it started on its worker. */
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
