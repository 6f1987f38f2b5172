import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import type { GanttAnswer, GanttLane } from '../../api/schema';
import { pausedTask } from '../../testing/paused';
import { push } from '../../testing/push';
import { render } from '../../testing/render';
import { PAUSED, type Palette } from '../../ui/canvas';
import { GanttNote } from './GanttNote';
import { drawBars } from './ganttBarDraw';
import { indexed, pausedBars } from './ganttLanes';
import { layoutOf } from './ganttLayout';
import type { Scene } from './ganttScene';

const BEGIN = [0, 500, 995];
/** Three bars that end at 1000, each on a lane of its own with this number of rows. */
const answer = (rows: number) =>
  ({
    lanes: BEGIN.map((_, at) => ({ id: `w${at}`, kind: 'function', rows }) as GanttLane),
    lanes_from: 0,
    lanes_total: 3,
    names: ['leaf'],
    states: ['running'],
    bars: {
      lane: [0, 1, 2],
      row: [0, 0, 0],
      begin: BEGIN,
      end: [1000, 1000, 1000],
      count: [1, 1, 1],
      busy: BEGIN.map((begin) => 1000 - begin),
      failed: [0, 0, 0],
      name: [0, 0, 0],
      state: [0, 0, 0],
      task_id: ['t0', 't1', 't2'],
      attempt: [0, 1, 0],
      peak_memory: [null, null, null],
    },
    details: { bar: [], executing: [], storing: [], created: [], waiting_node: [], queued: [] },
    blocked: { bar: [], begin: [], end: [], is_awaiting: [] },
    merged: 0,
    left_out: 0,
    hidden: [],
    attempts: 3,
  }) as unknown as GanttAnswer;

/** The x positions of the pause signs on a canvas 210 + 1000 px wide that shows a window from 0. */
function signs(paused: ReadonlySet<number>, { rows = 1, end = 1000 } = {}): number[] {
  const data = answer(rows);
  const at: number[] = [];
  const canvas: Record<string, unknown> = {
    fillRect(x: number, _y: number, width: number, height: number) {
      if (canvas.fillStyle === 'waiting' && width === PAUSED && height === PAUSED) at.push(x);
    },
    measureText: () => ({ width: 10 }),
  };
  const context = new Proxy(canvas, {
    get: (of, name) => of[name as string] ?? (() => ({ addColorStop() {} })),
  });
  const layout = layoutOf(3, new Map(data.lanes.entries()), {
    span: 1000,
    unfolded: new Set(),
    pins: [],
    kept: -1,
  });
  const { detail, blocked } = indexed(data);
  const scene = {
    ...{ data, shift: 0, window: { begin: 0, end }, layout, scroll: 0, left: 210, top: 24, matches: null },
    ...{ path: null, selected: -1, hovered: -1, paused, detail, blocked, byMemory: false },
  } as unknown as Scene;
  const look = { scheme: 'light', tone: (tone: string) => tone, named: () => 'fill' } as unknown as Palette;
  drawBars(context as unknown as CanvasRenderingContext2D, { width: 1210, height: 600 }, scene, look, false);
  return at;
}

it('marks the bars of paused attempts', () => {
  const index = indexed(answer(1));
  const bars = (task_id: string, attempt: number) => [
    ...pausedBars(index, [pausedTask({ task_id, attempt })]),
  ];
  expect(bars('t1', 1)).toEqual([1]);
  expect(bars('t1', 0)).toEqual([]);
  expect(signs(new Set())).toEqual([]);
  const [first, second, thin] = signs(new Set([0, 1, 2]));
  // Near their common end, and for the thin one on the canvas, too.
  expect(first).toBe(1210 - PAUSED - 3);
  expect(second).toBe(first);
  expect(thin).toBe(first);
});

it('keeps the sign at the bar and on the canvas', () => {
  // A thin bar in the middle, a bar that extends beyond the window, and folded lanes.
  expect(signs(new Set([2]), { end: 2000 })).toEqual([210 + 497.5]);
  expect(signs(new Set([0]), { end: 800 })).toEqual([1210 - PAUSED - 3]);
  expect(signs(new Set([0, 1]), { rows: 9 })).toHaveLength(2);
});

it('explains the sign if it is drawn, and links to the task', async () => {
  const items = ['t9', 't1'].map((task_id) => pausedTask({ task_id, pause_id: `pause_${task_id}` }));
  const session = push({ items });
  await render(<GanttNote data={answer(1)} window={{ begin: 0, end: 1000 }} />, {
    at: `/s/${session}/gantt`,
  });
  const legend = await screen.findByTestId('gantt-paused');
  expect(legend.textContent).toBe('Paused, waiting for a debugger');
  expect(legend.getAttribute('href')).toBe(`/s/${session}/debugger?item=pause_t1`);
});
