import { useCallback } from 'react';
import type { Span } from '../shared/span';
import { barAt, laneAt, ROW } from './gantt';
import { leftOf } from './ganttScene';
import type { GanttModel } from './useGanttModel';

/** What is at a place of a canvas so wide: the lane and the bar, or -1. */
export function useGanttHit(
  { data, index, tops, top }: GanttModel,
  shift: number,
  view: Span,
  scroll: number,
) {
  return useCallback(
    (x: number, y: number, width: number): { lane: number; bar: number } => {
      const lane = y < top ? -1 : laneAt(tops, y - top + scroll);
      const from = leftOf(width);
      if (!data || !index || lane < 0 || x < from) return { lane, bar: -1 };
      const row = Math.max(0, Math.floor((y - top + scroll - (tops[lane] ?? 0) - 3) / ROW));
      const pixel = (view.end - view.begin) / Math.max(1, width - from);
      const rows = index.rows.get(`${lane - data.lanes_from}:${row}`);
      return { lane, bar: barAt(data.bars, rows, view.begin + (x - from) * pixel - shift, pixel * 4) };
    },
    [data, index, shift, view, tops, scroll, top],
  );
}
