import { useCallback } from 'react';
import type { Span } from '../shared/span';
import { barAt, ROW } from './gantt';
import { type LayoutRow, rowAt } from './ganttLayout';
import { scaleOf } from './ganttScene';
import type { GanttModel } from './useGanttModel';

/** The row, bar and time under the pointer. `bar` is -1 if there is no bar or the row is folded. */
export interface Hit {
  row: LayoutRow | null;
  bar: number;
  /** Time under the pointer, in ns after the start of the answer. */
  time: number;
}

/** Finds what is at a position of a canvas of the given width. */
export function useGanttHit(
  { data, index, layout, top }: GanttModel,
  shift: number,
  view: Span,
  scroll: number,
) {
  return useCallback(
    (x: number, y: number, width: number): Hit => {
      const inPinned = y - top < layout.pinnedHeight;
      const rows = inPinned ? layout.pinned : layout.rows;
      const height = inPinned ? y - top : y - top - layout.pinnedHeight + scroll;
      const row = y < top ? null : (rows[rowAt(rows, height)] ?? null);
      const { left, perPixel, timeAt } = scaleOf(view, { width });
      const time = timeAt(x) - shift;
      if (!data || !index || row?.kind !== 'lane' || row.folded || x < left) return { row, bar: -1, time };
      const line = Math.max(0, Math.floor((height - row.top - 3) / ROW));
      const bars = index.rows.get(`${row.lane - data.lanes_from}:${line}`);
      return { row, bar: barAt(data.bars, bars, time, perPixel * 4), time };
    },
    [data, index, shift, view, layout, scroll, top],
  );
}

export type GanttHit = ReturnType<typeof useGanttHit>;
