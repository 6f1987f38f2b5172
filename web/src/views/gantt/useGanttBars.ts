import { useSessionUrl } from '../../ui/useUrl';
import type { Span } from '../shared/span';
import { panned } from './gantt';
import { lanesBetween } from './ganttLayout';
import type { GanttModel } from './useGanttModel';

/** Functions that select an attempt or move the window to it. */
export interface GanttBars {
  select: (bar: number) => void;
  zoomTo: (bar: number) => void;
  /** Selects the next or previous attempt in the row, or the first visible one if none is selected. */
  step: (by: 1 | -1) => void;
}

export function useGanttBars(
  { data, index, selected, layout }: GanttModel,
  shift: number,
  view: Span,
  scroll: number,
  onMove: (window: Span | null) => void,
): GanttBars {
  const [, change] = useSessionUrl();
  const select = (bar: number) => {
    if (!data || bar < 0) return;
    const task = data.bars.task_id[bar] as string;
    change((before) => ({ ...before, task, attempt: data.bars.attempt[bar] as number }));
  };
  const zoomTo = (bar: number) => {
    if (!data || bar < 0) return;
    const begin = (data.bars.begin[bar] as number) + shift;
    const end = (data.bars.end[bar] as number) + shift;
    const room = Math.max(1000, (end - begin) * 0.15);
    onMove({ begin: begin - room, end: end + room });
  };

  function step(by: 1 | -1): void {
    if (!data || !index) return;
    if (selected < 0) {
      const from = Math.max(0, lanesBetween(layout.rows, scroll, scroll)[0] - data.lanes_from);
      for (let lane = from; lane < data.lanes.length; lane += 1) {
        const row = index.rows.get(`${lane}:0`);
        const seen = row?.find((bar) => (data.bars.end[bar] as number) + shift > view.begin);
        if (seen !== undefined) {
          select(seen);
          return;
        }
      }
      return;
    }
    const row = index.rows.get(`${data.bars.lane[selected]}:${data.bars.row[selected]}`) ?? [];
    const next = row[row.indexOf(selected) + by];
    if (next === undefined) return;
    select(next);
    const begin = (data.bars.begin[next] as number) + shift;
    if (begin < view.begin || begin > view.end) onMove(panned(view, begin - (view.begin + view.end) / 2));
  }

  return { select, zoomTo, step };
}
