import { expect, it } from 'vitest';
import type { GanttAnswer, GanttLane } from '../../api/schema';
import { lanesBetween, layoutOf, rowAt } from './ganttLayout';
import { profileOf, runningAt } from './ganttProfile';

const lane = (id: string, more: Partial<GanttLane> = {}): GanttLane => ({
  id,
  kind: 'worker',
  label: null,
  depth: null,
  node_id: 'n1',
  node_ip: null,
  pid: null,
  actor_id: null,
  class_name: null,
  actor_name: null,
  functions: [],
  functions_total: 0,
  attempts: 1,
  waiting: 0,
  busy_ns: 900,
  max_memory: null,
  rows: 1,
  folded: 0,
  ...more,
});
const idle = { busy_ns: 1 };
const LANES = [
  lane('a', { rows: 20 }),
  lane('b', idle),
  lane('c', idle),
  lane('d', idle),
  lane('e', { node_id: 'n2' }),
];
const known = new Map(LANES.entries());
const layout = (unfolded: string[] = [], pins: string[] = [], kept = -1) =>
  layoutOf(6, known, { span: 1000, unfolded: new Set(unfolded), pins, kept });
const keys = (rows: { key: string }[]) => rows.map((row) => row.key);

it('groups workers by node and folds idle ones and tall lanes', () => {
  const folded = layout();
  expect(keys(folded.rows)).toEqual([
    'node n1',
    'worker a',
    'quiet node n1',
    'node n2',
    'worker e',
    'lane 5', // not loaded yet
  ]);
  expect(folded.rows[2]).toMatchObject({ lanes: 3, folded: true });
  expect(folded.byLane.get(2)).toBe(folded.rows[2]);
  const open = layout(['quiet node n1', 'worker a']);
  expect(keys(open.rows).slice(2, 6)).toEqual(['quiet node n1', 'worker b', 'worker c', 'worker d']);
  expect(open.rows[1]?.height).toBeGreaterThan(folded.rows[1]?.height as number);
  // The selected lane is not folded, and the remaining two are too few to fold.
  expect(keys(layout([], [], 1).rows)).toContain('worker b');
});

it('pins lanes above the others, once', () => {
  const { pinned, rows, pinnedHeight } = layout([], ['c']);
  expect(keys(pinned)).toEqual(['worker c']);
  expect(keys(rows)).not.toContain('worker c');
  expect(pinnedHeight).toBe(pinned[0]?.height);
});

it('finds rows by height, and the visible lanes', () => {
  const { rows, height } = layout();
  for (const row of rows) expect(rows[rowAt(rows, row.top)]).toBe(row);
  expect(rowAt(rows, height)).toBe(-1);
  expect(rowAt(rows, -1)).toBe(-1);
  expect(lanesBetween(rows, 0, height)).toEqual([0, 5]);
});

it('counts how many ran at once, merged ones by how busy they were', () => {
  const bars = {
    begin: [0, 5, 20],
    end: [10, 15, 40],
    busy: [10, 10, 50],
    count: [1, 1, 9],
    name: [0, 0, 1],
    state: [0, 0, 0],
  };
  const profile = profileOf(bars as unknown as GanttAnswer['bars'], [0, 1, 2]);
  expect([-1, 0, 7, 12, 17, 30, 40].map((at) => runningAt(profile, at))).toEqual([0, 1, 2, 1, 0, 2.5, 0]);
  expect(profile.most).toBe(2.5);
  expect(profile.name).toBe(1);
  // Waiting calls are not running.
  const queued = { ...bars, state: [0, 4, 0] } as unknown as GanttAnswer['bars'];
  expect(runningAt(profileOf(queued, [0, 1, 2], 4), 7)).toBe(1);
});
