import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { CriticalPathAnswer, GanttAnswer, GanttLane } from '../../api/schema';
import { count } from '../../base/format';
import { toFinding } from '../../ui/insights/findings';
import layout from '../../ui/theme/layout.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import type { Span } from '../shared/span';
import css from './GanttChart.module.css';
import { GanttTooltip } from './GanttTooltip';
import { scaleOf } from './ganttScene';
import { useGanttBars } from './useGanttBars';
import { useGanttDrawing } from './useGanttDrawing';
import type { GanttFind } from './useGanttFind';
import { useGanttFolding } from './useGanttFolding';
import { useGanttHit } from './useGanttHit';
import { useGanttKeys } from './useGanttKeys';
import { useGanttModel } from './useGanttModel';
import { type Point, useGanttPointer } from './useGanttPointer';
import { useGanttReveal } from './useGanttReveal';
import { useGanttScroll } from './useGanttScroll';

/** The canvas of the bars, with mouse and keyboard control. */
export function GanttChart(props: {
  data: GanttAnswer | undefined;
  /** The same answer with nodes as lanes, for their utilisation. */
  nodes: GanttAnswer | undefined;
  /** Added to times of the data to get times of the window. `pathShift` is the same for times of the path. */
  shift: number;
  window: Span;
  path: CriticalPathAnswer | undefined;
  pathShift: number;
  canvas: React.RefObject<HTMLCanvasElement | null>;
  /** The chosen range of time, and a previous one that was kept for comparison. */
  range: Span | null;
  kept: Span | null;
  find: GanttFind;
  /** Undefined if no range can be chosen. */
  onRange?: (range: Span | null) => void;
  onWidth: (width: number) => void;
  onMove: (window: Span | null) => void;
  /** Called with the first and the last visible lane. */
  onLanes: (first: number, last: number) => void;
  /** Undefined if names and findings of lanes lead nowhere. */
  onLanePick?: (lane: Pick<GanttLane, 'kind' | 'id' | 'label'>) => void;
  /** The time under the pointer in this chart or in another one with the same axis, whose times start at 0. */
  cursor?: { at: number | null; onMove: (at: number | null) => void };
}) {
  const { data, shift, window: view, find, cursor, onMove, onRange } = props;
  const { t } = useTranslation();
  const [url, change] = useSessionUrl();
  const [scroll, setScroll] = useState(0);
  const [drawn, setDrawn] = useState<Span | null>(null);
  const [hover, setHover] = useState<Point | null>(null);
  const folding = useGanttFolding();
  const model = useGanttModel(data, props.nodes, folding, props.path, props.pathShift);
  const hit = useGanttHit(model, shift, view, scroll);

  const { box, canvas, size } = useGanttDrawing({
    model,
    hit,
    shift,
    window: view,
    scroll,
    hover,
    find,
    range: drawn ?? props.range,
    kept: props.kept,
    cursor: cursor?.at,
    byMemory: url.settings?.color === 'memory',
    canvas: props.canvas,
    onWidth: props.onWidth,
  });
  const { visibleHeight, scrollTo, scrollBy } = useGanttScroll({
    model,
    size,
    scroll,
    setScroll,
    onLanes: props.onLanes,
  });
  useGanttReveal({
    find,
    model,
    shift,
    window: view,
    visibleHeight,
    folding,
    onScrollTo: scrollTo,
    onMove,
  });
  const bars = useGanttBars(model, shift, view, scroll, onMove);
  const scale = scaleOf(view, size);
  const pointedAt = hover && hover.x >= scale.left ? scale.timeAt(hover.x) : null;
  const moveCursor = cursor?.onMove;
  useEffect(() => moveCursor?.(pointedAt), [pointedAt, moveCursor]);
  useGanttKeys({
    box,
    window: view,
    range: props.range,
    middle: cursor?.at ?? (hover ? scale.timeAt(hover.x) : (view.begin + view.end) / 2),
    model,
    bars,
    folding,
    onScroll: scrollBy,
    onMove,
    onRange,
  });
  const pointer = useGanttPointer({
    box,
    window: view,
    size,
    scale,
    scroll,
    lanes: model.lanes,
    bars,
    folding,
    drawn,
    hit,
    onHover: setHover,
    onDraw: setDrawn,
    onScrollTo: scrollTo,
    onScrollBy: scrollBy,
    onMove,
    onRange,
    onLanePick: props.onLanePick,
    onFinding: (lane) => {
      const finding = model.findingOf(lane);
      if (finding !== undefined) change((before) => toFinding(before, model.findingsJob, finding));
      return finding !== undefined;
    },
  });
  const under = hover && { ...hover, ...hit(hover.x, hover.y, size.width) };
  return (
    <div
      ref={box}
      className={css.chart}
      role="application"
      aria-label={t('gantt.chart', { n: count(data?.attempts ?? 0), lanes: count(data?.lanes_total ?? 0) })}
      aria-busy={data === undefined}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the drawing supports keyboard navigation.
      tabIndex={0}
      data-testid="gantt-chart"
      data-cursor={cursor?.at ?? undefined}
      {...pointer}
    >
      <canvas ref={canvas} className={layout.canvas} data-picture data-bars={data?.bars.lane.length} />
      {under && (
        <GanttTooltip
          canPick={props.onLanePick !== undefined}
          model={model}
          size={size}
          left={scale.left}
          {...under}
        />
      )}
    </div>
  );
}
