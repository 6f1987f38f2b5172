import { useCallback, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { CriticalPath } from '../../api/criticalPath';
import { count } from '../../base/format';
import { useCanvas, usePalette } from '../../ui/canvas';
import type { Span } from '../shared/span';
import css from './GanttChart.module.css';
import { GanttTooltip } from './GanttTooltip';
import { laneAt, panned, zoomed } from './gantt';
import type { Gantt, GanttLane } from './ganttData';
import { drawGantt } from './ganttDraw';
import { drawRanges } from './ganttRangeDraw';
import { leftOf, type Scene } from './ganttScene';
import { useGanttBars } from './useGanttBars';
import { useGanttHit } from './useGanttHit';
import { useGanttKeys } from './useGanttKeys';
import { useGanttModel } from './useGanttModel';
import { type Point, useGanttPointer } from './useGanttPointer';
import { useWheel } from './useWheel';

/** The bars, drawn; everything that moves them. */
export function GanttChart(props: {
  data: Gantt | undefined;
  /** Times of the data plus this are times of the window; those of the path plus `pathShift`. */
  shift: number;
  window: Span;
  path: CriticalPath | undefined;
  pathShift: number;
  canvas: React.RefObject<HTMLCanvasElement | null>;
  /** The chosen range of time, and one that was kept to compare with. */
  range: Span | null;
  kept: Span | null;
  /** Names that were searched for. */
  matches: ((name: string) => boolean) | null;
  onRange: (range: Span | null) => void;
  onWidth: (width: number) => void;
  onMove: (window: Span | null) => void;
  onLane: (lane: number) => void;
  onLanePick: (lane: GanttLane) => void;
}) {
  const { data, shift, window: view, path, matches, kept, onWidth, onMove, onLane, onRange } = props;
  const { t } = useTranslation();
  const look = usePalette();
  const [scroll, setScroll] = useState(0);
  const [drawn, setDrawn] = useState<Span | null>(null);
  const range = drawn ?? props.range;
  const [hover, setHover] = useState<Point | null>(null);
  const model = useGanttModel(data, path, props.pathShift);
  const { lanes, tops, top } = model;
  const hit = useGanttHit(model, shift, view, scroll);

  const { box, canvas, size } = useCanvas(
    useCallback(
      (context, shape) => {
        const { data, index } = model;
        if (!data || !index) return;
        const scene: Scene = {
          data,
          shift,
          window: view,
          zero: shift,
          tops: model.tops,
          scroll,
          left: leftOf(shape.width),
          top: model.top,
          labels: (lane) => model.labels.get(lane),
          selected: model.selected,
          hovered: hover ? hit(hover.x, hover.y, shape.width).bar : -1,
          detail: index.detail,
          blocked: index.blocked,
          path: model.path,
          arrows: model.arrows,
          matches,
        };
        drawGantt(context, shape, scene, look);
        drawRanges(context, shape, scene, look, range, kept);
      },
      [model, shift, view, scroll, hover, hit, look, matches, range, kept],
    ),
  );
  useEffect(() => onWidth(Math.max(0, size.width - leftOf(size.width))), [size.width, onWidth]);
  useEffect(() => {
    props.canvas.current = canvas.current;
  });

  const left = leftOf(size.width);
  const height = (tops[tops.length - 1] ?? 0) + 8;
  const lowest = Math.max(0, height - (size.height - top));
  const scrolled = Math.min(scroll, lowest);
  useEffect(() => {
    if (scrolled !== scroll) setScroll(scrolled);
    onLane(Math.max(0, laneAt(tops, scrolled)));
  }, [scrolled, scroll, tops, onLane]);

  const perPixel = (view.end - view.begin) / Math.max(1, size.width - left);
  const timeAt = (x: number) => view.begin + (x - left) * perPixel;

  const placeOf = (event: { clientX: number; clientY: number }) => {
    const bounds = canvas.current?.getBoundingClientRect();
    return { x: event.clientX - (bounds?.left ?? 0), y: event.clientY - (bounds?.top ?? 0) };
  };
  const pointAt = ({ x, y }: { x: number; y: number }) => ({ x, y, ...hit(x, y, size.width) });

  const scrollTo = (to: number) => setScroll(Math.min(lowest, Math.max(0, to)));
  const scrollBy = (by: number) => setScroll((before) => Math.min(lowest, Math.max(0, before + by)));

  useWheel(box, size.height > 0, (event) => {
    const { x } = placeOf(event);
    const unit = event.deltaMode === 1 ? 30 : 1;
    if (event.ctrlKey || event.metaKey)
      onMove(zoomed(view, Math.exp((event.deltaY * unit) / 300), timeAt(Math.max(left, x))));
    else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
      onMove(panned(view, (event.deltaX || event.deltaY) * unit * perPixel));
    else scrollBy(event.deltaY * unit);
  });
  const bars = useGanttBars(model, shift, view, scroll, onMove);
  useGanttKeys({
    box,
    window: view,
    range: props.range,
    middle: hover ? timeAt(hover.x) : (view.begin + view.end) / 2,
    selected: model.selected,
    bars,
    onScroll: scrollBy,
    onMove,
    onRange,
  });
  const pointer = useGanttPointer({
    window: view,
    size,
    left,
    scroll,
    perPixel,
    lanes,
    bars,
    drawn,
    timeAt,
    placeOf,
    pointAt,
    onHover: setHover,
    onDraw: setDrawn,
    onScrollTo: scrollTo,
    onMove,
    onRange,
    onLanePick: props.onLanePick,
  });
  const under = hover ? pointAt(hover) : null;
  return (
    <div
      ref={box}
      className={css.chart}
      role="application"
      aria-label={t('gantt.chart', { n: count(data?.attempts ?? 0), lanes: count(data?.lanes_total ?? 0) })}
      aria-busy={data === undefined}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what is drawn is moved and chosen by keys.
      tabIndex={0}
      data-testid="gantt-chart"
      {...pointer}
    >
      <canvas ref={canvas} data-bars={data?.bars.lane.length} />
      {under && <GanttTooltip model={model} size={size} left={left} {...under} />}
    </div>
  );
}
