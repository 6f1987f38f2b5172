import { useCallback, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { CriticalPath } from '../../api/criticalPath';
import { count } from '../../base/format';
import { useCanvas, usePalette } from '../../ui/canvas';
import type { Span } from '../shared/span';
import css from './GanttChart.module.css';
import { GanttTooltip } from './GanttTooltip';
import { panned, zoomed } from './gantt';
import type { Gantt, GanttLane } from './ganttData';
import { drawGantt } from './ganttDraw';
import { lanesBetween } from './ganttLayout';
import { drawRanges } from './ganttRangeDraw';
import { leftOf, type Scene } from './ganttScene';
import { useGanttBars } from './useGanttBars';
import type { GanttFind } from './useGanttFind';
import { useGanttFolding } from './useGanttFolding';
import { useGanttHit } from './useGanttHit';
import { useGanttKeys } from './useGanttKeys';
import { useGanttModel } from './useGanttModel';
import { type Point, useGanttPointer } from './useGanttPointer';
import { useGanttReveal } from './useGanttReveal';
import { useWheel } from './useWheel';

/** The bars, drawn; everything that moves them. */
export function GanttChart(props: {
  data: Gantt | undefined;
  /** The same with nodes as lanes: how busy each was. */
  nodes: Gantt | undefined;
  /** Times of the data plus this are times of the window; those of the path plus `pathShift`. */
  shift: number;
  window: Span;
  path: CriticalPath | undefined;
  pathShift: number;
  canvas: React.RefObject<HTMLCanvasElement | null>;
  /** The chosen range of time, and one that was kept to compare with. */
  range: Span | null;
  kept: Span | null;
  find: GanttFind;
  onRange: (range: Span | null) => void;
  onWidth: (width: number) => void;
  onMove: (window: Span | null) => void;
  /** The first and the last lane that are seen. */
  onLanes: (first: number, last: number) => void;
  onLanePick: (lane: Pick<GanttLane, 'kind' | 'id' | 'label'>) => void;
}) {
  const { data, shift, window: view, path, find, kept, onWidth, onMove, onLanes, onRange } = props;
  const { t } = useTranslation();
  const look = usePalette();
  const [scroll, setScroll] = useState(0);
  const [drawn, setDrawn] = useState<Span | null>(null);
  const range = drawn ?? props.range;
  const [hover, setHover] = useState<Point | null>(null);
  const folding = useGanttFolding();
  const model = useGanttModel(data, props.nodes, folding, path, props.pathShift);
  const { lanes, layout, top } = model;
  const hit = useGanttHit(model, shift, view, scroll);

  const { box, canvas, size } = useCanvas(
    useCallback(
      (context, shape) => {
        const { data, index } = model;
        if (!data || !index) return;
        const under = hover ? hit(hover.x, hover.y, shape.width) : null;
        const scene: Scene = {
          data,
          shift,
          window: view,
          zero: shift,
          layout: model.layout,
          scroll,
          left: leftOf(shape.width),
          top: model.top,
          labels: model.labels,
          profile: model.profile,
          nodeProfile: model.nodeProfile,
          barsOf: (lane) => index.byLane.get(lane - data.lanes_from) ?? [],
          selected: model.selected,
          hovered: under && under.bar >= 0 ? under.bar : find.bar,
          hoveredRow: under?.row ?? null,
          detail: index.detail,
          blocked: index.blocked,
          path: model.path,
          arrows: model.arrows,
          matches: find.matches,
        };
        drawGantt(context, shape, scene, look);
        drawRanges(context, shape, scene, look, range, kept);
      },
      [model, shift, view, scroll, hover, hit, look, find, range, kept],
    ),
  );
  useEffect(() => onWidth(Math.max(0, size.width - leftOf(size.width))), [size.width, onWidth]);
  useEffect(() => {
    props.canvas.current = canvas.current;
  });

  const left = leftOf(size.width);
  const seen = size.height - top - layout.pinnedHeight;
  const lowest = Math.max(0, layout.height + 8 - seen);
  const scrolled = Math.min(scroll, lowest);
  useEffect(() => {
    if (scrolled !== scroll) setScroll(scrolled);
    const [first, last] = lanesBetween(layout.rows, scrolled, scrolled + Math.max(0, seen));
    const pinned = layout.pinned.map((row) => row.lane);
    onLanes(Math.min(first, ...pinned), Math.max(last, ...pinned));
  }, [scrolled, scroll, layout, seen, onLanes]);

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
  useGanttReveal({ find, model, shift, window: view, seen, folding, onScrollTo: scrollTo, onMove });
  const bars = useGanttBars(model, shift, view, scroll, onMove);
  const lane =
    data && model.selected >= 0 ? (data.bars.lane[model.selected] as number) + data.lanes_from : -1;
  const selectedLane = lanes.get(lane);
  const selectedRow = layout.byLane.get(lane);
  useGanttKeys({
    box,
    window: view,
    range: props.range,
    middle: hover ? timeAt(hover.x) : (view.begin + view.end) / 2,
    selected: model.selected,
    bars,
    onFold: () => selectedRow && folding.toggle(selectedRow.key),
    onPin: () => selectedLane?.id && folding.togglePin(selectedLane.id),
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
    folding,
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
      <canvas ref={canvas} data-picture data-bars={data?.bars.lane.length} />
      {under && <GanttTooltip model={model} size={size} left={left} {...under} />}
    </div>
  );
}
