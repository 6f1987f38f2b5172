import { type RefObject, useCallback, useEffect } from 'react';
import { useCanvas, usePalette } from '../../ui/canvas';
import type { Span } from '../shared/span';
import { drawGantt } from './ganttDraw';
import { drawCursor, drawRanges } from './ganttRangeDraw';
import { leftOf, type Scene } from './ganttScene';
import type { GanttFind } from './useGanttFind';
import type { GanttHit } from './useGanttHit';
import type { GanttModel } from './useGanttModel';
import type { Point } from './useGanttPointer';

/**
 * Draws the chart into `box` whenever its content changes. `onWidth` is called with the width of the bars'
 * area.
 */
export function useGanttDrawing(chart: {
  model: GanttModel;
  hit: GanttHit;
  shift: number;
  window: Span;
  scroll: number;
  hover: Point | null;
  find: GanttFind;
  range: Span | null;
  kept: Span | null;
  /** The time of the cursor; undefined if the chart has none. If it has, its times start at 0. */
  cursor: number | null | undefined;
  byMemory: boolean;
  /** This ref is set to the canvas. */
  canvas: RefObject<HTMLCanvasElement | null>;
  onWidth: (width: number) => void;
}) {
  const {
    model,
    hit,
    shift,
    window: view,
    scroll,
    hover,
    find,
    range,
    kept,
    cursor,
    byMemory,
    onWidth,
  } = chart;
  const look = usePalette();
  const drawing = useCanvas(
    useCallback(
      (context, shape) => {
        const { data, index } = model;
        if (!data || !index) return;
        const under = hover ? hit(hover.x, hover.y, shape.width) : null;
        const scene: Scene = {
          data,
          byMemory,
          shift,
          window: view,
          zero: cursor === undefined ? shift : 0,
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
          paused: model.paused,
          path: model.path,
          arrows: model.arrows,
          matches: find.matches,
        };
        drawGantt(context, shape, scene, look);
        drawRanges(context, shape, scene, look, range, kept);
        if (cursor !== undefined && cursor !== null) drawCursor(context, shape, scene, look, cursor);
      },
      [model, shift, view, scroll, hover, hit, look, find, range, kept, cursor, byMemory],
    ),
  );
  const { width } = drawing.size;
  useEffect(() => onWidth(Math.max(0, width - leftOf(width))), [width, onWidth]);
  useEffect(() => {
    chart.canvas.current = drawing.canvas.current;
  });
  return drawing;
}
