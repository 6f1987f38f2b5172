import { type MouseEvent, type PointerEvent, type RefObject, useEffect, useRef } from 'react';
import type { GanttLane } from '../../api/schema';
import type { Size } from '../../ui/canvas';
import type { Span } from '../shared/span';
import { useWheel } from '../shared/useWheel';
import { panned, zoomed } from './gantt';
import { FOLD_WIDTH, MARK_WIDTH, PIN_WIDTH } from './ganttRowDraw';
import type { Scale } from './ganttScene';
import type { GanttBars } from './useGanttBars';
import type { GanttFolding } from './useGanttFolding';
import type { GanttHit } from './useGanttHit';

/** How long a click waits for a second click before it counts as a single one, ms. */
const DOUBLE_CLICK = 240;

export interface Point {
  x: number;
  y: number;
}

/**
 * Mouse control. A drag or the wheel moves the window, a drag with Shift chooses a range, a click selects,
 * and a double click zooms.
 */
export function useGanttPointer(chart: {
  box: RefObject<HTMLElement | null>;
  window: Span;
  size: Size;
  scale: Scale;
  scroll: number;
  lanes: ReadonlyMap<number, GanttLane>;
  bars: GanttBars;
  folding: GanttFolding;
  /** The range that the user is drawing. */
  drawn: Span | null;
  hit: GanttHit;
  onHover: (point: Point | null) => void;
  onDraw: (range: Span | null) => void;
  onScrollTo: (scroll: number) => void;
  onScrollBy: (by: number) => boolean;
  onMove: (window: Span | null) => void;
  onRange: ((range: Span | null) => void) | undefined;
  onLanePick: ((lane: Pick<GanttLane, 'kind' | 'id' | 'label'>) => void) | undefined;
  /** Opens the finding of a lane. Returns false if it has none. */
  onFinding: (lane: GanttLane) => boolean;
}) {
  const { box, window: view, size, scroll, lanes, bars, folding, drawn } = chart;
  const { left, perPixel, timeAt } = chart.scale;
  const { onHover, onDraw, onScrollTo, onScrollBy, onMove, onRange, onLanePick } = chart;
  const placeOf = (event: { clientX: number; clientY: number }): Point => {
    const bounds = box.current?.getBoundingClientRect();
    return { x: event.clientX - (bounds?.left ?? 0), y: event.clientY - (bounds?.top ?? 0) };
  };
  const hitOf = (event: { clientX: number; clientY: number }) => {
    const { x, y } = placeOf(event);
    return { x, ...chart.hit(x, y, size.width) };
  };
  useWheel(box, size.height > 0, (event) => {
    const unit = event.deltaMode === 1 ? 30 : 1;
    if (event.ctrlKey || event.metaKey)
      onMove(zoomed(view, Math.exp((event.deltaY * unit) / 300), timeAt(Math.max(left, placeOf(event).x))));
    else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
      onMove(panned(view, (event.deltaX || event.deltaY) * unit * perPixel));
    else return onScrollBy(event.deltaY * unit);
    return true;
  });
  const drag = useRef<{
    x: number;
    y: number;
    window: Span;
    scroll: number;
    far: boolean;
    /** The time at which the user started to draw a range. */
    from: number | null;
  } | null>(null);
  const click = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(click.current), []);
  return {
    onPointerDown: (event: PointerEvent<HTMLDivElement>) => {
      if (event.button !== 0) return;
      const { x } = placeOf(event);
      const from = onRange && event.shiftKey && x >= left ? timeAt(x) : null;
      drag.current = { x: event.clientX, y: event.clientY, window: view, scroll, far: false, from };
      event.currentTarget.setPointerCapture(event.pointerId);
    },
    onPointerMove: (event: PointerEvent<HTMLDivElement>) => {
      const held = drag.current;
      if (held !== null) {
        held.far ||= Math.hypot(event.clientX - held.x, event.clientY - held.y) > 4;
        if (!held.far) return;
        onHover(null);
        if (held.from !== null) {
          const at = timeAt(Math.min(size.width, Math.max(left, placeOf(event).x)));
          onDraw({ begin: Math.min(held.from, at), end: Math.max(held.from, at) });
          return;
        }
        onMove(panned(held.window, (held.x - event.clientX) * perPixel));
        onScrollTo(held.scroll + held.y - event.clientY);
        return;
      }
      onHover(placeOf(event));
    },
    onPointerUp: (event: PointerEvent<HTMLDivElement>) => {
      const held = drag.current;
      drag.current = null;
      if (drawn !== null) {
        onDraw(null);
        onRange?.(drawn);
      }
      if (held === null || held.far) return;
      const { bar, row, x } = hitOf(event);
      clearTimeout(click.current);
      if (row?.folds && (row.kind === 'quiet' || x < FOLD_WIDTH || (row.folded && x >= left)))
        return folding.toggle(row.key);
      const lane = x < left && row ? lanes.get(row.lane) : undefined;
      if (lane && row?.kind === 'node')
        onLanePick?.({ kind: 'node', id: lane.node_id ?? '', label: lane.label });
      else if (lane && row && lane.id !== '' && x >= left - PIN_WIDTH) folding.togglePin(lane.id);
      else if (lane && onLanePick === undefined) return;
      else if (lane && row?.kind === 'lane' && x >= left - PIN_WIDTH - MARK_WIDTH && chart.onFinding(lane))
        return;
      else if (lane && lane.kind !== 'not_placed') onLanePick?.(lane);
      else if (bar >= 0) click.current = setTimeout(() => bars.select(bar), DOUBLE_CLICK);
    },
    onPointerCancel: () => {
      drag.current = null;
      onDraw(null);
    },
    onPointerLeave: () => onHover(null),
    onDoubleClick: (event: MouseEvent) => {
      clearTimeout(click.current);
      bars.zoomTo(hitOf(event).bar);
    },
  };
}
