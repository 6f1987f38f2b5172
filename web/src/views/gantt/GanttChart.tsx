import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { CriticalPath } from '../../api/criticalPath';
import { count } from '../../base/format';
import { isTyping } from '../../base/keys';
import { useCanvas, usePalette } from '../../ui/canvas';
import { useSessionUrl } from '../../ui/useUrl';
import { withEnd } from '../shared/range';
import type { Span } from '../shared/span';
import css from './GanttChart.module.css';
import { BarTooltip, LaneTooltip } from './GanttTooltip';
import { barAt, laneAt, laneTops, panned, ROW, zoomed } from './gantt';
import type { Gantt, GanttLane } from './ganttData';
import { AXIS, drawGantt, PATH_ROW, type Scene } from './ganttDraw';
import { indexed, keyOf, useArrows, useKnownLanes, useLabels, useSelected } from './ganttLanes';
import { drawRanges } from './ganttRangeDraw';

/** A click waits so long for the second one of a double click. ms. */
const DOUBLE = 240;
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
  const [url, change] = useSessionUrl();
  const { t } = useTranslation();
  const look = usePalette();
  const [scroll, setScroll] = useState(0);
  const [drawn, setDrawn] = useState<Span | null>(null);
  const range = drawn ?? props.range;
  const [hover, setHover] = useState<{ x: number; y: number } | null>(null);
  const top = path ? AXIS + PATH_ROW : AXIS;

  const lanes = useKnownLanes(data);
  const total = data?.lanes_total ?? 0;
  const tops = useMemo(() => laneTops(total, (lane) => lanes.get(lane)?.rows ?? 1), [total, lanes]);
  const labels = useLabels(lanes);
  const index = useMemo(() => (data ? indexed(data) : null), [data]);
  const selected = useSelected(index, url.task, url.attempt);
  const arrows = useArrows(url.session, url.task, selected, index, data?.origin_ns ?? 0);

  const onPath = useMemo(() => {
    if (!path || !index) return null;
    const bars = new Set<number>();
    for (const link of path.links) {
      const bar = index.byAttempt.get(keyOf(link.task_id, link.attempt));
      if (bar !== undefined) bars.add(bar);
    }
    return { links: path.links, shift: props.pathShift, bars, label: t('gantt.path') };
  }, [path, index, props.pathShift, t]);

  /** What is at a place of a canvas so wide: the lane and the bar, or -1. */
  const hit = useCallback(
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

  const { box, canvas, size } = useCanvas(
    useCallback(
      (context, shape) => {
        if (!data || !index) return;
        const scene: Scene = {
          data,
          shift,
          window: view,
          zero: shift,
          tops,
          scroll,
          left: leftOf(shape.width),
          top,
          labels: (lane) => labels.get(lane),
          selected,
          hovered: hover ? hit(hover.x, hover.y, shape.width).bar : -1,
          detail: index.detail,
          blocked: index.blocked,
          path: onPath,
          arrows,
          matches,
        };
        drawGantt(context, shape, scene, look);
        drawRanges(context, shape, scene, look, range, kept);
      },
      [
        data,
        index,
        shift,
        view,
        tops,
        scroll,
        top,
        labels,
        selected,
        hover,
        hit,
        onPath,
        arrows,
        look,
        matches,
        range,
        kept,
      ],
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

  // React's wheel events cannot be kept from scrolling the page.
  const wheel = useRef<(event: WheelEvent) => void>(() => undefined);
  wheel.current = (event) => {
    event.preventDefault();
    const { x } = pointAt(placeOf(event));
    const unit = event.deltaMode === 1 ? 30 : 1;
    if (event.ctrlKey || event.metaKey)
      onMove(zoomed(view, Math.exp((event.deltaY * unit) / 300), timeAt(Math.max(left, x))));
    else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
      onMove(panned(view, (event.deltaX || event.deltaY) * unit * perPixel));
    else setScroll((before) => Math.min(lowest, Math.max(0, before + event.deltaY * unit)));
  };
  const ready = size.height > 0;
  useEffect(() => {
    const element = box.current;
    if (!ready || element === null) return;
    const listen = (event: WheelEvent) => wheel.current(event);
    element.addEventListener('wheel', listen, { passive: false });
    return () => element.removeEventListener('wheel', listen);
  }, [box, ready]);

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

  const keys = useRef<(event: KeyboardEvent) => void>(() => undefined);
  keys.current = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    const middle = hover ? timeAt(hover.x) : (view.begin + view.end) / 2;
    const far = (view.end - view.begin) * 0.15;
    const onCanvas = event.target === box.current;
    const does: Record<string, () => void> = {
      w: () => onMove(zoomed(view, 0.7, middle)),
      s: () => onMove(zoomed(view, 1 / 0.7, middle)),
      a: () => onMove(panned(view, -far)),
      d: () => onMove(panned(view, far)),
      f: () => onMove(null),
      r: () => onRange(props.range === null ? view : null),
      '[': () => onRange(withEnd(props.range, view, 'begin', middle)),
      ']': () => onRange(withEnd(props.range, view, 'end', middle)),
      ...(props.range !== null && url.task === undefined && { Escape: () => onRange(null) }),
      ...(onCanvas && {
        ArrowLeft: () => step(-1),
        ArrowRight: () => step(1),
        ArrowDown: () => setScroll((before) => Math.min(lowest, before + 60)),
        ArrowUp: () => setScroll((before) => Math.max(0, before - 60)),
        Enter: () => zoomTo(selected),
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

  /** The attempt after or before the selected one in its row; the first in sight if none is. */
  function step(by: 1 | -1): void {
    if (!data || !index) return;
    if (selected < 0) {
      const from = Math.max(0, laneAt(tops, scroll)) - data.lanes_from;
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

  const drag = useRef<{
    x: number;
    y: number;
    window: Span;
    scroll: number;
    far: boolean;
    /** Where a range was begun. */
    from: number | null;
  } | null>(null);
  const click = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(click.current), []);
  const under = hover ? pointAt(hover) : null;
  const lane = under && under.x < left ? lanes.get(under.lane) : undefined;
  return (
    <div
      ref={box}
      className={css.chart}
      role="application"
      aria-label={t('gantt.chart', { n: count(data?.attempts ?? 0), lanes: count(total) })}
      aria-busy={data === undefined}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what is drawn is moved and chosen by keys.
      tabIndex={0}
      data-testid="gantt-chart"
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        const { x } = placeOf(event);
        const from = event.shiftKey && x >= left ? timeAt(x) : null;
        drag.current = { x: event.clientX, y: event.clientY, window: view, scroll, far: false, from };
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={(event) => {
        const held = drag.current;
        if (held !== null) {
          held.far ||= Math.hypot(event.clientX - held.x, event.clientY - held.y) > 4;
          if (!held.far) return;
          setHover(null);
          if (held.from !== null) {
            const at = timeAt(Math.min(size.width, Math.max(left, placeOf(event).x)));
            setDrawn({ begin: Math.min(held.from, at), end: Math.max(held.from, at) });
            return;
          }
          onMove(panned(held.window, (held.x - event.clientX) * perPixel));
          setScroll(Math.min(lowest, Math.max(0, held.scroll + held.y - event.clientY)));
          return;
        }
        setHover(placeOf(event));
      }}
      onPointerUp={(event) => {
        const held = drag.current;
        drag.current = null;
        if (drawn !== null) {
          setDrawn(null);
          onRange(drawn);
        }
        if (held === null || held.far) return;
        const { bar, lane, x } = pointAt(placeOf(event));
        const label = x < left ? lanes.get(lane) : undefined;
        clearTimeout(click.current);
        if (label && label.kind !== 'not_placed') props.onLanePick(label);
        else if (bar >= 0) click.current = setTimeout(() => select(bar), DOUBLE);
      }}
      onPointerCancel={() => {
        drag.current = null;
        setDrawn(null);
      }}
      onPointerLeave={() => setHover(null)}
      onDoubleClick={(event) => {
        clearTimeout(click.current);
        zoomTo(pointAt(placeOf(event)).bar);
      }}
    >
      <canvas ref={canvas} data-bars={data?.bars.lane.length} />
      {data && under && (under.bar >= 0 || lane) && (
        <div
          className={css.tip}
          style={{
            left: Math.min(under.x + 14, Math.max(0, size.width - 290)),
            top: Math.min(under.y + 16, Math.max(0, size.height - 110)),
          }}
        >
          {under.bar >= 0 ? (
            <BarTooltip data={data} bar={under.bar} detail={index?.detail.get(under.bar)} />
          ) : (
            lane && <LaneTooltip lane={lane} text={labels.get(under.lane)?.text ?? ''} />
          )}
        </div>
      )}
    </div>
  );
}

const leftOf = (width: number) => (width < 760 ? 130 : 210);
