import type { RefObject } from 'react';
import { useTranslation } from 'react-i18next';
import { useKeys } from '../../ui/useKeys';
import { useSessionUrl } from '../../ui/useUrl';
import { withEnd } from '../shared/range';
import type { Span } from '../shared/span';
import { panned, zoomed } from './gantt';
import type { GanttBars } from './useGanttBars';
import type { GanttFolding } from './useGanttFolding';
import type { GanttModel } from './useGanttModel';

/**
 * Keys that move and zoom the window, choose a range and, if the chart has the focus, step through the bars.
 */
export function useGanttKeys(chart: {
  box: RefObject<HTMLDivElement | null>;
  window: Span;
  range: Span | null;
  /** The time around which keys zoom, and at which they start or end a range. */
  middle: number;
  model: GanttModel;
  bars: GanttBars;
  folding: GanttFolding;
  onScroll: (by: number) => void;
  onMove: (window: Span | null) => void;
  onRange: ((range: Span | null) => void) | undefined;
}): void {
  const { box, window: view, range, middle, model, bars, folding, onScroll, onMove, onRange } = chart;
  const { data, selected } = model;
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  // The lane of the selected bar.
  const lane = data && selected >= 0 ? (data.bars.lane[selected] as number) + data.lanes_from : -1;
  const row = model.layout.byLane.get(lane);
  const id = model.lanes.get(lane)?.id;
  const far = (view.end - view.begin) * 0.15;
  useKeys(t('nav.gantt'), [
    { keys: ['w'], label: t('keys.zoomIn'), run: () => onMove(zoomed(view, 0.7, middle)) },
    { keys: ['s'], label: t('keys.zoomOut'), run: () => onMove(zoomed(view, 1 / 0.7, middle)) },
    { keys: ['a'], label: t('keys.earlier'), run: () => onMove(panned(view, -far)) },
    { keys: ['d'], label: t('keys.later'), run: () => onMove(panned(view, far)) },
    { keys: ['f'], label: t('keys.fit'), run: () => onMove(null) },
    ...(onRange === undefined
      ? []
      : [
          { keys: ['r'], label: t('keys.range'), run: () => onRange(range === null ? view : null) },
          {
            keys: ['['],
            label: t('keys.rangeBegin'),
            run: () => onRange(withEnd(range, view, 'begin', middle)),
          },
          { keys: [']'], label: t('keys.rangeEnd'), run: () => onRange(withEnd(range, view, 'end', middle)) },
          ...(range !== null && url.task === undefined
            ? [{ keys: ['Escape'], label: t('range.clear'), run: () => onRange(null) }]
            : []),
        ]),
  ]);
  useKeys(
    t('keys.chart'),
    [
      { keys: ['ArrowLeft'], label: t('keys.previousBar'), run: () => bars.step(-1) },
      { keys: ['ArrowRight'], label: t('keys.nextBar'), run: () => bars.step(1) },
      { keys: ['ArrowUp'], label: t('keys.scrollUp'), run: () => onScroll(-60) },
      { keys: ['ArrowDown'], label: t('keys.scrollDown'), run: () => onScroll(60) },
      { keys: ['Enter'], label: t('keys.zoomToBar'), run: () => bars.zoomTo(selected) },
      { keys: ['u'], label: t('keys.unfoldLanes'), run: () => row && folding.toggle(row.key) },
      { keys: ['p'], label: t('keys.pinLane'), run: () => id && folding.togglePin(id) },
    ],
    box,
  );
}
