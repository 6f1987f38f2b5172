import { type RefObject, useEffect, useRef } from 'react';
import { isTyping } from '../../base/keys';
import { useSessionUrl } from '../../ui/useUrl';
import { withEnd } from '../shared/range';
import type { Span } from '../shared/span';
import { panned, zoomed } from './gantt';
import type { GanttBars } from './useGanttBars';

/** Keys move, zoom, choose a range, and (with the chart in focus) walk over the bars. */
export function useGanttKeys(chart: {
  box: RefObject<HTMLDivElement | null>;
  window: Span;
  range: Span | null;
  /** The time to zoom at, and where a range begins or ends. */
  middle: number;
  selected: number;
  bars: GanttBars;
  onScroll: (by: number) => void;
  onMove: (window: Span | null) => void;
  onRange: (range: Span | null) => void;
}): void {
  const { box, window: view, range, middle, selected, bars, onScroll, onMove, onRange } = chart;
  const [url] = useSessionUrl();
  const keys = useRef<(event: KeyboardEvent) => void>(() => undefined);
  keys.current = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    const far = (view.end - view.begin) * 0.15;
    const onCanvas = event.target === box.current;
    const does: Record<string, () => void> = {
      w: () => onMove(zoomed(view, 0.7, middle)),
      s: () => onMove(zoomed(view, 1 / 0.7, middle)),
      a: () => onMove(panned(view, -far)),
      d: () => onMove(panned(view, far)),
      f: () => onMove(null),
      r: () => onRange(range === null ? view : null),
      '[': () => onRange(withEnd(range, view, 'begin', middle)),
      ']': () => onRange(withEnd(range, view, 'end', middle)),
      ...(range !== null && url.task === undefined && { Escape: () => onRange(null) }),
      ...(onCanvas && {
        ArrowLeft: () => bars.step(-1),
        ArrowRight: () => bars.step(1),
        ArrowDown: () => onScroll(60),
        ArrowUp: () => onScroll(-60),
        Enter: () => bars.zoomTo(selected),
      }),
    };
    const act = does[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  };
  useEffect(() => {
    const listen = (event: KeyboardEvent) => keys.current(event);
    window.addEventListener('keydown', listen);
    return () => window.removeEventListener('keydown', listen);
  }, []);
}
