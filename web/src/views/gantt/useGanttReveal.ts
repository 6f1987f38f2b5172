import { useEffect, useRef } from 'react';
import type { Span } from '../shared/span';
import { panned, ROW } from './gantt';
import type { GanttFind } from './useGanttFind';
import type { GanttFolding } from './useGanttFolding';
import type { GanttModel } from './useGanttModel';

/** Scrolls to the current search hit, once for each step of the search. */
export function useGanttReveal(chart: {
  find: GanttFind;
  model: GanttModel;
  shift: number;
  window: Span;
  /** Height of the area that scrolls, px. */
  visibleHeight: number;
  folding: GanttFolding;
  onScrollTo: (scroll: number) => void;
  onMove: (window: Span | null) => void;
}): void {
  const { find, model, shift, window: view, visibleHeight, folding, onScrollTo, onMove } = chart;
  const { data, layout } = model;
  const done = useRef(find.turn);
  useEffect(() => {
    if (done.current === find.turn || !data || find.bar < 0) return;
    const row = layout.byLane.get((data.bars.lane[find.bar] as number) + data.lanes_from);
    if (row === undefined) return;
    // The lane gets a row of its own only in the next layout, so scroll then.
    if (row.kind === 'quiet') return folding.unfold(row.key);
    done.current = find.turn;
    const line = row.folded ? 0 : (data.bars.row[find.bar] as number) * ROW;
    if (!row.pinned) onScrollTo(row.top + line - visibleHeight / 2);
    const middle = ((data.bars.begin[find.bar] as number) + (data.bars.end[find.bar] as number)) / 2 + shift;
    if (middle < view.begin || middle > view.end) onMove(panned(view, middle - (view.begin + view.end) / 2));
  }, [find, data, layout, shift, view, visibleHeight, folding, onScrollTo, onMove]);
}
