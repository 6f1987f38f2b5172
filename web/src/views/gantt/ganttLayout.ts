/**
 * Layout of the lanes: they are grouped by node, pinned ones are on top, and those that would fill the screen
 * are folded.
 */

import type { GanttLane } from '../../api/schema';
import { LANE_GAP, ROW } from './gantt';

const HEADER = 30;
const FOLDED = 24;
/** A lane with more rows than this is drawn as a band until it is unfolded. */
const MANY_ROWS = 3;
/** Height of a band, in rows. */
const BAND_ROWS = 2;
/** Workers that were busy for less than this share of the run are folded together. */
export const QUIET_SHARE = 0.01;
const FEW_QUIET = 3;

export interface LayoutRow {
  kind: 'node' | 'lane' | 'quiet';
  /** The key under which the row is unfolded. It is the same in every answer. */
  key: string;
  /** The lane, or the first lane of a node or of a folded group. */
  lane: number;
  /** Number of lanes that the row stands for. */
  lanes: number;
  top: number;
  height: number;
  /** Whether the row can be folded, and whether it is folded. */
  folds: boolean;
  folded: boolean;
  pinned: boolean;
}

export interface Layout {
  pinned: LayoutRow[];
  rows: LayoutRow[];
  pinnedHeight: number;
  height: number;
  /** The row of each lane. Lanes that are folded together have the same row. */
  byLane: ReadonlyMap<number, LayoutRow>;
}

export interface Folding {
  /** Duration of the run, ns. */
  span: number;
  unfolded: ReadonlySet<string>;
  pins: readonly string[];
  /** The lane that is never folded with others, or -1. */
  kept: number;
}

const laneKey = (lane: GanttLane | undefined, at: number) =>
  lane ? `${lane.kind} ${lane.id}` : `lane ${at}`;

export function layoutOf(
  total: number,
  lanes: ReadonlyMap<number, GanttLane>,
  { span, unfolded, pins, kept }: Folding,
): Layout {
  const byLane = new Map<number, LayoutRow>();
  const pinned: LayoutRow[] = [];
  const rows: LayoutRow[] = [];
  const heights = { pinned: 0, rows: 0 };
  const place = (to: 'pinned' | 'rows', row: Omit<LayoutRow, 'top' | 'pinned'>): LayoutRow => {
    const placed = { ...row, top: heights[to], pinned: to === 'pinned' };
    heights[to] += row.height;
    (to === 'pinned' ? pinned : rows).push(placed);
    return placed;
  };
  const placeLane = (to: 'pinned' | 'rows', at: number) => {
    const lane = lanes.get(at);
    const key = laneKey(lane, at);
    const rowCount = Math.max(1, lane?.rows ?? 1);
    const folds = rowCount > MANY_ROWS && lane?.kind !== 'not_placed';
    const folded = folds && !unfolded.has(key);
    const height = (folded ? BAND_ROWS : rowCount) * ROW + LANE_GAP;
    byLane.set(at, place(to, { kind: 'lane', key, lane: at, lanes: 1, height, folds, folded }));
  };
  for (const [at, lane] of [...lanes].sort(([a], [b]) => a - b))
    if (pins.includes(lane.id) && lane.id !== '') placeLane('pinned', at);
  const isQuiet = (at: number) => {
    const lane = lanes.get(at);
    return lane?.kind === 'worker' && at !== kept && lane.busy_ns < span * QUIET_SHARE;
  };
  for (let at = 0; at < total; ) {
    const first = lanes.get(at);
    let end = at + 1;
    if (first?.kind === 'worker')
      while (end < total && lanes.get(end)?.kind === 'worker' && lanes.get(end)?.node_id === first.node_id)
        end += 1;
    const group = Array.from({ length: end - at }, (_, n) => at + n).filter((lane) => !byLane.has(lane));
    const node = `node ${first?.node_id ?? ''}`;
    if (first?.kind === 'worker') {
      const lanes = end - at;
      place('rows', {
        kind: 'node',
        key: node,
        lane: at,
        lanes,
        height: HEADER,
        folds: false,
        folded: false,
      });
    }
    const quiet = group.filter(isQuiet);
    const gathers = quiet.length >= FEW_QUIET && quiet.length < group.length;
    for (const lane of group) if (!gathers || !isQuiet(lane)) placeLane('rows', lane);
    if (gathers) {
      const key = `quiet ${node}`;
      const folded = !unfolded.has(key);
      const row = place('rows', {
        kind: 'quiet',
        key,
        lane: quiet[0] as number,
        lanes: quiet.length,
        height: FOLDED,
        folds: true,
        folded,
      });
      for (const lane of quiet)
        if (folded) byLane.set(lane, row);
        else placeLane('rows', lane);
    }
    at = end;
  }
  return { pinned, rows, pinnedHeight: heights.pinned, height: heights.rows, byLane };
}

/** The index of the row at a vertical position; -1 if there is none. */
export function rowAt(rows: readonly LayoutRow[], y: number): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const row = rows[middle] as LayoutRow;
    if (row.top + row.height <= y) low = middle + 1;
    else high = middle;
  }
  return y >= 0 && low < rows.length ? low : -1;
}

/** The first and the last lane of the rows between two vertical positions. */
export function lanesBetween(rows: readonly LayoutRow[], from: number, to: number): [number, number] {
  let first = Number.POSITIVE_INFINITY;
  let last = 0;
  for (let at = Math.max(0, rowAt(rows, from)); at < rows.length; at += 1) {
    const row = rows[at] as LayoutRow;
    if (row.top > to) break;
    first = Math.min(first, row.lane);
    last = Math.max(last, row.lane);
  }
  return [Number.isFinite(first) ? first : 0, last];
}
