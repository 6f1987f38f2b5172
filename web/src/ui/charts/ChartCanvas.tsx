import 'uplot/dist/uPlot.min.css';
import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import uPlot from 'uplot';
import { isUtc } from '../../base/format';
import { type Palette, usePalette } from '../canvas';
import css from './ChartCanvas.module.css';
import { ChartMarks, type PlotArea } from './ChartMarks';
import { isolatedPoints, type Line, stackLines } from './series';
import { dragged, type Range } from './timeRange';
import { countIncrements, increments, timeMarks, type Unit, valueText } from './units';
import type { Mark } from './useMarks';

interface ChartCanvasProps {
  times: number[];
  /** The visible lines. */
  lines: Line[];
  /** Colour of each line. Canvas drawing needs resolved colours. */
  colors: { color: string; dashed: boolean }[];
  unit: Unit;
  /** Title of the axis, if its labels have no unit. */
  axisTitle?: string;
  stacked: boolean;
  /** Value of a dashed line across the plot. The axis extends to it. */
  threshold?: number;
  height: number;
  range: Range;
  marks: Mark[];
  syncKey: string;
  /** The highlighted line. */
  focus: number | null;
  /** Called with the index in `times` at the crosshair, or null if there is no crosshair. */
  onPlace: (at: number | null) => void;
  onZoom: (range: Range) => void;
  onReset: () => void;
}

/**
 * Lines or stacked areas over time, drawn by uPlot. A default export, so that it can be loaded as a separate
 * chunk.
 */
export default function ChartCanvas(props: ChartCanvasProps) {
  const { times, lines, colors, unit, stacked, threshold, height, range, syncKey, focus } = props;
  const palette = usePalette();
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const [width, setWidth] = useState(0);
  const [area, setArea] = useState<PlotArea | null>(null);

  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const measure = () => setWidth(element.clientWidth);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  // Build a new plot if anything except the values changes; otherwise update the existing one.
  const looks = JSON.stringify([
    lines.map((line) => line.key),
    colors,
    unit,
    props.axisTitle,
    stacked,
    threshold,
  ]);
  const wide = width > 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: `looks` covers everything from which the plot is built.
  useEffect(() => {
    const element = box.current;
    if (element === null || !wide) return;
    const made = new uPlot(
      optionsOf(latest, palette, element.clientWidth, setArea),
      dataOf(latest.current),
      element,
    );
    made.setScale('x', { min: latest.current.range.from, max: latest.current.range.to });
    plot.current = made;
    return () => {
      plot.current = null;
      made.destroy();
    };
  }, [looks, palette, syncKey, wide]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: changes that `looks` covers build a new plot.
  useEffect(() => {
    const now = plot.current;
    if (now === null) return;
    now.batch(() => {
      now.setData(dataOf(latest.current), false);
      now.setScale('x', { min: range.from, max: range.to });
    });
  }, [times, lines, range.from, range.to]);

  useEffect(() => {
    if (width > 0) plot.current?.setSize({ width, height });
  }, [width, height]);

  useEffect(() => {
    plot.current?.setSeries(focus === null ? null : focus + 1, { focus: focus !== null });
  }, [focus]);

  return (
    <div className={css.frame}>
      <div ref={box} className={css.canvas} style={{ height }} />
      {area !== null && <ChartMarks marks={props.marks} range={range} area={area} />}
    </div>
  );
}

function dataOf({ times, lines, stacked }: ChartCanvasProps): uPlot.AlignedData {
  return [times, ...(stacked ? stackLines(lines) : lines.map((line) => line.values))];
}

const FONT = '11px Inter, system-ui, "Noto Sans", sans-serif';
const MIN_AXIS_WIDTH = 40;
/** Tick distances of the time axis, ms. The smallest ones give several ticks even for a few minutes. */
const TIME_INCREMENTS = [
  ...[1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800],
  ...[1, 2, 3, 6, 12, 24, 48, 96, 168, 720, 2_160].map((hours) => hours * 3_600),
].map((seconds) => seconds * 1e3);

/** Width of the axis, as required by its longest label, CSS px. */
function axisWidth(u: uPlot, labels: string[] | null): number {
  if (labels === null) return MIN_AXIS_WIDTH;
  u.ctx.save();
  u.ctx.font = FONT;
  const widest = Math.max(0, ...labels.map((label) => u.ctx.measureText(label).width));
  u.ctx.restore();
  return Math.max(MIN_AXIS_WIDTH, Math.ceil(widest) + 14);
}

function optionsOf(
  now: { current: ChartCanvasProps },
  palette: Palette,
  width: number,
  onArea: (set: (before: PlotArea | null) => PlotArea) => void,
): uPlot.Options {
  const { lines, colors, unit, stacked, axisTitle, height, syncKey, range } = now.current;
  const axis = {
    stroke: palette.muted,
    font: FONT,
    grid: { stroke: palette.lineSoft, width: 1 },
    ticks: { show: false },
  };
  return {
    width,
    height,
    ms: 1,
    ...(isUtc() && { tzDate: (at: number) => uPlot.tzDate(new Date(at), 'Etc/UTC') }),
    padding: [8, 24, 0, 0],
    legend: { show: false },
    focus: { alpha: 0.25 },
    scales: {
      x: { time: true, min: range.from, max: range.to, auto: false },
      y: {
        range: (_, least, most) => heights(least, maxOf(most, now.current.threshold), now.current.unit),
      },
    },
    axes: [
      {
        ...axis,
        size: 26,
        gap: 8, // below the lowest label of the value axis
        space: 62,
        incrs: TIME_INCREMENTS,
        values: (_, splits, __, ___, distance) => timeMarks(splits, distance / 1e3),
      },
      {
        ...axis,
        size: axisWidth,
        gap: 6,
        space: 24,
        incrs: unit === 'count' ? () => countIncrements(now.current.lines) : increments(unit),
        ...(axisTitle !== undefined && { label: axisTitle, labelFont: FONT, labelSize: 15, labelGap: 0 }),
        values: (_, splits) => splits.map((value) => valueText(value, unit)),
      },
    ],
    series: [
      {},
      ...lines.map((line, at): uPlot.Series => {
        const { color = palette.muted, dashed = false } = colors[at] ?? {};
        return {
          label: line.name,
          stroke: color,
          width: line.bold ? 3 : stacked ? 1 : 1.5,
          fill: stacked ? `${color}80` : lines.length === 1 ? `${color}1f` : undefined,
          dash: dashed ? [6, 4] : undefined,
          spanGaps: false,
          points: {
            show: true,
            size: 4,
            fill: color,
            filter: (u, series) => isolatedPoints(u.data[series] ?? []),
          },
        };
      }),
    ],
    bands: stacked ? lines.slice(1).map((_, at): uPlot.Band => ({ series: [at + 2, at + 1] })) : [],
    cursor: {
      y: false,
      points: { size: 6 },
      drag: { x: true, y: false, setScale: false, dist: 6 },
      sync: {
        key: syncKey,
        scales: ['x', null],
        setSeries: false,
        filters: { sub: isMove, pub: isMove },
      },
      bind: {
        dblclick: () => () => {
          now.current.onReset();
          return null;
        },
      },
    },
    hooks: {
      draw: [
        (u) => drawThreshold(u, now.current.threshold, palette),
        (u) => onArea((before) => areaOf(u, before)),
      ],
      setCursor: [(u) => now.current.onPlace(u.cursor.idx ?? null)],
      setSelect: [
        (u) => {
          const { left, width: wide } = u.select;
          if (wide <= 0) return;
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          now.current.onZoom(dragged(u.posToVal(left, 'x'), u.posToVal(left + wide, 'x')));
        },
      ],
    },
  };
}

/** The area of the plot. Returns the same object while the area does not change. */
function areaOf({ bbox }: uPlot, before: PlotArea | null): PlotArea {
  const [left, top, width, height] = [bbox.left, bbox.top, bbox.width, bbox.height].map(
    (pixels) => pixels / devicePixelRatio,
  ) as [number, number, number, number];
  const isSame =
    before !== null &&
    before.left === left &&
    before.top === top &&
    before.width === width &&
    before.height === height;
  return isSame ? before : { left, top, width, height };
}

/** The maximum, or the threshold if it is greater. */
function maxOf(most: number | null, threshold: number | undefined): number | null {
  return threshold === undefined ? most : Math.max(most ?? threshold, threshold);
}

function drawThreshold(u: uPlot, threshold: number | undefined, palette: Palette): void {
  if (threshold === undefined) return;
  const { left, top, width, height } = u.bbox;
  const y = u.valToPos(threshold, 'y', true);
  if (y < top || y > top + height) return;
  u.ctx.save();
  u.ctx.strokeStyle = palette.muted;
  u.ctx.lineWidth = devicePixelRatio;
  u.ctx.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio]);
  u.ctx.beginPath();
  u.ctx.moveTo(left, y);
  u.ctx.lineTo(left + width, y);
  u.ctx.stroke();
  u.ctx.restore();
}

/** Drags and clicks apply to one chart, pointer movements to all charts of a group. */
const isMove = (type: string) => type === 'mousemove' || type === 'mouseleave' || type === 'mouseenter';

/**
 * The range of the value axis: from 0 (or the minimum, if it is negative) to slightly above the maximum.
 * Percentages and ratios have their full scale unless a value exceeds it.
 */
function heights(least: number | null, most: number | null, unit: Unit): [number, number] {
  const low = Math.min(0, least ?? 0);
  const high = Math.max(0, most ?? 0);
  if (unit === 'percent' && high <= 100) return [low, 100];
  if (unit === 'ratio' && high <= 1) return [low, 1];
  if (low === 0 && high === 0) return [0, 1];
  return [low < 0 ? low * 1.08 : 0, high * 1.08];
}
