import { type RefObject, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { FlameAnswer, FlameFrame } from '../../api/schema';
import { count } from '../../base/format';
import { useCanvas, usePalette } from '../../ui/canvas';
import { useKeys } from '../../ui/useKeys';
import { useSelectedFunction } from '../shared/useSelectedFunction';
import css from './FlameCanvas.module.css';
import { FlameTooltip, type PointedFrame } from './FlameTooltip';
import {
  type Box,
  change,
  edges,
  layout,
  lineOf,
  matcher,
  type Node,
  neighbour,
  type Order,
  scaleOf,
} from './flame';
import { drawFlame, MAX_ROW, rowHeight } from './flameDraw';
import { useFrameName, useNodeValue } from './flameText';

/** Minimum width of a drawn box, px. */
const MIN_WIDTH = 0.4;

/** How the frames of two runs differ: the change of each from -1 to 1, and the lines of its tooltip. */
export interface ComparedRuns {
  changeOf: (frame: FlameFrame) => number;
  isOneSided: (frame: FlameFrame) => boolean;
  linesOf: (frame: FlameFrame) => [name: string, value: string][];
}

/**
 * The flame graph. A click or Enter zooms in on a frame, the arrow keys move the selection, and the selected
 * frame shows its numbers.
 */
export function FlameCanvas(props: {
  answer: FlameAnswer;
  zoomed: Node;
  order: Order;
  find: string | undefined;
  /** How many frames there are. */
  frames: number;
  /** Whether shares of the total are compared instead of values. */
  relative: boolean;
  /** Replaces the comparison with the baseline of the answer. */
  runs?: ComparedRuns;
  /** Is set to the canvas. */
  picture: RefObject<HTMLCanvasElement | null>;
  onZoom: (node: Node) => void;
  onHold: (on: boolean) => void;
}) {
  const { answer, zoomed, order, find, relative, runs, onZoom, onHold } = props;
  const scale = scaleOf(answer, relative);
  const selected = useSelectedFunction();
  const { t } = useTranslation();
  const palette = usePalette();
  const nameOf = useFrameName();
  const nodeValue = useNodeValue(answer.weight);
  const [top, setTop] = useState(0);
  /** Whether an arrow key caused the scrolling. If so, the selected frame stays selected. */
  const byKeys = useRef(false);
  const [pointed, setPointed] = useState<PointedFrame | null>(null);
  const [width, setWidth] = useState(1000);
  const boxes = useMemo(() => layout(zoomed, order, MIN_WIDTH / width), [zoomed, order, width]);
  const rows = boxes.reduce((most, box) => Math.max(most, box.row), 0) + 1;
  const zoomedRow = lineOf(zoomed).length - 1;
  const matches = useMemo(() => matcher(find), [find]);
  const pointedId = pointed?.id ?? null;

  // biome-ignore lint/correctness/useExhaustiveDependencies: the texts change with the language alone.
  const draw = useCallback(
    (context: CanvasRenderingContext2D, size: { width: number; height: number }) =>
      drawFlame(context, size, {
        palette,
        boxes,
        row: rowHeight(rows, size.height),
        top,
        zoomedRow,
        matches,
        pointed: pointedId,
        selected,
        changeOf: runs?.changeOf ?? ((frame) => change(frame, scale)),
        isOneSided: runs?.isOneSided ?? (() => false),
        nameOf,
        valueOf: nodeValue,
      }),
    [palette, boxes, rows, top, zoomedRow, matches, pointedId, selected, scale, runs, answer.weight, t],
  );
  const { box, canvas, size } = useCanvas(draw);
  useEffect(() => {
    props.picture.current = canvas.current;
  });
  const rowPx = rowHeight(rows, size.height);
  useEffect(() => {
    if (size.width > 0) setWidth(size.width);
  }, [size.width]);

  // Scroll the zoomed frame into view if it is far down.
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const y = zoomedRow * rowPx;
    if (y < element.scrollTop || y + 3 * rowPx > element.scrollTop + element.clientHeight)
      element.scrollTop = Math.max(0, y - 2 * rowPx);
  }, [zoomedRow, rowPx, box]);

  const at = (event: React.MouseEvent): Box | undefined => {
    const rect = event.currentTarget.getBoundingClientRect();
    const row = Math.floor((event.clientY - rect.top + top) / rowPx);
    const x = event.clientX - rect.left;
    return boxes.find((one) => {
      const { left, right } = edges(one, size.width);
      return one.row === row && x >= left && x < right;
    });
  };
  const place = (event: React.MouseEvent): { x: number; y: number } => {
    const rect = event.currentTarget.getBoundingClientRect();
    return { x: event.clientX - rect.left, y: event.clientY - rect.top };
  };
  const now = boxes.find((one) => one.node.frame.id === pointedId);
  const walk = (key: string): void => {
    const next = now === undefined ? boxes[zoomedRow] : neighbour(boxes, now, key);
    if (next === undefined) return;
    const y = next.row * rowPx;
    if (box.current) {
      if (y < top) box.current.scrollTop = y;
      if (y + rowPx > top + size.height) box.current.scrollTop = y + rowPx - size.height;
      byKeys.current = box.current.scrollTop !== top;
    }
    const seen = y - (box.current?.scrollTop ?? top) + rowPx;
    setPointed({ id: next.node.frame.id, x: (next.x + Math.min(next.width, 0.2) / 2) * width, y: seen });
  };

  useKeys(
    t('keys.chart'),
    [
      {
        keys: ['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight'],
        label: t('keys.move'),
        run: ({ key }) => walk(key),
      },
      {
        keys: ['Enter', ' '],
        label: t('keys.zoomToFrame'),
        run: () => (now === undefined ? false : onZoom(now.node)),
      },
    ],
    box,
  );
  const shown = now?.node.frame;
  return (
    <div className={css.frame} style={{ flexBasis: rows * MAX_ROW }}>
      <section
        ref={box}
        className={css.scroll}
        aria-label={t('flame.label')}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable regions must be reachable by keyboard.
        tabIndex={0}
        onScroll={(event) => {
          setTop(event.currentTarget.scrollTop);
          if (!byKeys.current) setPointed(null);
          byKeys.current = false;
        }}
        onBlur={() => setPointed(null)}
        data-testid="flame"
        data-boxes={boxes.length}
        data-rows={rows}
      >
        <div style={{ height: rows * rowPx }}>
          <canvas
            ref={canvas}
            className={css.canvas}
            data-picture
            style={{ width: size.width, height: size.height }}
            role="img"
            aria-label={t('flame.summary', {
              name: nameOf(zoomed.frame),
              value: nodeValue(zoomed),
              n: count(props.frames),
            })}
            onMouseMove={(event) => {
              onHold(true);
              const hit = at(event);
              event.currentTarget.style.cursor = hit ? 'pointer' : 'default';
              setPointed(hit ? { id: hit.node.frame.id, ...place(event) } : null);
            }}
            onMouseLeave={() => {
              setPointed(null);
              onHold(false);
            }}
            onClick={(event) => {
              const hit = at(event);
              if (hit) onZoom(hit.node);
            }}
          />
        </div>
      </section>
      {pointed !== null && shown !== undefined && (
        <FlameTooltip
          frame={shown}
          answer={answer}
          relative={relative}
          samples={now?.node.samples}
          lines={runs?.linesOf(shown)}
          pointed={pointed}
          width={size.width}
          height={size.height}
        />
      )}
    </div>
  );
}
