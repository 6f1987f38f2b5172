import { ActionIcon, Tooltip } from '@mantine/core';
import { IconArrowsMaximize, IconMinus, IconPlus } from '@tabler/icons-react';
import { type RefObject, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { count } from '../../base/format';
import { gridOf, indexAt, isInside, NONE } from '../../base/grid';
import { type Size, useCanvas, usePalette } from '../../ui/canvas';
import layout from '../../ui/theme/layout.module.css';
import { useKeys } from '../../ui/useKeys';
import { useWheel } from '../shared/useWheel';
import css from './PhysicalCanvas.module.css';
import { PhysicalTooltip } from './PhysicalTooltip';
import shared from './physical.module.css';
import { drawScene } from './physicalDraw';
import { type Camera, cellBox, type Scene, slotBoxes } from './physicalScene';

const FIT: Camera = { scale: 1, x: 0, y: 0 };
const MARGIN = 8;
/** Approximate maximum width of a cell per slot, px. A cell grows with its content. */
const SLOT = 260;
/** Maximum width of a cell with few slots, px. */
const MIN_WIDEST = 520;
const MAX_ZOOM = 60;
/** Maximum pointer movement during a click, px. A larger one counts as a drag. */
const CLICK_TOLERANCE = 4;

/** A scene without the layout of its cells. */
export type Content = Omit<Scene, 'grid'>;

export interface Target {
  node: number;
  worker: number;
}

/** Nodes as cells with their workers. A drag moves, the wheel zooms, a click selects. */
export function PhysicalCanvas(props: {
  content: Content;
  picture: RefObject<HTMLCanvasElement | null>;
  /** Whether this component handles Escape. */
  escapes: boolean;
  onSelect: (target: Target) => void;
}) {
  const { content, onSelect } = props;
  const { t } = useTranslation();
  const palette = usePalette();
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  const [camera, setCamera] = useState<Camera>(FIT);
  const [hover, setHover] = useState<(Target & { x: number; y: number }) | null>(null);
  const pressed = useRef<{ x: number; y: number; camera: Camera; moved: boolean } | null>(null);
  const cellCount = content.order.length;
  const grid = useMemo(
    () =>
      gridOf(
        cellCount,
        Math.max(1, size.width - 2 * MARGIN),
        Math.max(1, size.height - 2 * MARGIN),
        Math.max(MIN_WIDEST, SLOT * Math.ceil(Math.sqrt(content.most))),
      ),
    [cellCount, size, content.most],
  );
  const scene = useMemo<Scene>(() => ({ ...content, grid }), [content, grid]);
  const shown = useMemo(() => ({ ...camera, x: camera.x + MARGIN, y: camera.y + MARGIN }), [camera]);
  const draw = useCallback(
    (context: CanvasRenderingContext2D, of: Size) => drawScene(context, of, scene, shown, palette),
    [scene, shown, palette],
  );
  const { box, canvas, size: measured } = useCanvas(draw);
  useEffect(() => setSize(measured), [measured]);
  useEffect(() => {
    props.picture.current = canvas.current;
  });

  const at = (event: { clientX: number; clientY: number }) => {
    const { left, top } = box.current?.getBoundingClientRect() ?? { left: 0, top: 0 };
    return { x: event.clientX - left, y: event.clientY - top };
  };
  const hit = (x: number, y: number): Target => {
    const place = indexAt(grid, (x - shown.x) / camera.scale, (y - shown.y) / camera.scale);
    const node = scene.order[place];
    if (node === undefined) return { node: NONE, worker: NONE };
    const cell = cellBox(scene, shown, place);
    if (!isInside(cell, x, y)) return { node: NONE, worker: NONE };
    const slot = slotBoxes(scene, cell, node).findIndex((one) => isInside(one, x, y));
    return { node, worker: scene.slots[node]?.[slot]?.worker ?? NONE };
  };
  const zoom = useCallback(
    (by: number, x = size.width / 2, y = size.height / 2) =>
      setCamera((before) => {
        const scale = Math.min(Math.max(before.scale * by, 1), MAX_ZOOM);
        const part = scale / before.scale;
        const next = {
          scale,
          x: x - MARGIN - (x - MARGIN - before.x) * part,
          y: y - MARGIN - (y - MARGIN - before.y) * part,
        };
        return scale === 1 ? FIT : next;
      }),
    [size],
  );
  const approach = (node: number) => {
    const place = scene.order.indexOf(node);
    if (place < 0) return;
    const scale = Math.min(
      MAX_ZOOM,
      Math.max(1, Math.min(size.width / grid.width, size.height / grid.height) * 0.9),
    );
    const cell = cellBox(scene, FIT, place);
    setCamera({
      scale,
      x: size.width / 2 - (cell.x + cell.width / 2) * scale,
      y: size.height / 2 - (cell.y + cell.height / 2) * scale,
    });
  };
  useWheel(box, true, (event) => {
    const { x, y } = at(event);
    zoom(1.0015 ** -event.deltaY, x, y);
  });

  const workersOf = (node: number) => (scene.slots[node] ?? []).filter((slot) => slot.worker !== NONE);
  const walk = (key: string): boolean => {
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -grid.columns, ArrowDown: grid.columns }[key];
    const slots = workersOf(scene.node);
    const among = slots.findIndex((slot) => slot.worker === scene.worker);
    if (step !== undefined) {
      if (among >= 0 && Math.abs(step) === 1) {
        const next = slots[Math.min(Math.max(among + step, 0), slots.length - 1)];
        onSelect({ node: scene.node, worker: next?.worker ?? NONE });
        return true;
      }
      const place = scene.order.indexOf(scene.node);
      const next = place < 0 ? 0 : place + step;
      const node = scene.order[next];
      if (node !== undefined) onSelect({ node, worker: NONE });
      return true;
    }
    return false;
  };
  const enter = () => {
    const first = workersOf(scene.node)[0];
    if (scene.worker !== NONE || first === undefined) return false;
    onSelect({ node: scene.node, worker: first.worker });
    return true;
  };
  const leave = () => {
    if (!props.escapes || scene.node === NONE) return false;
    onSelect({ node: scene.worker === NONE ? NONE : scene.node, worker: NONE });
    return true;
  };
  useKeys(
    t('keys.chart'),
    [
      {
        keys: ['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight'],
        label: t('keys.move'),
        run: ({ key }) => walk(key),
      },
      { keys: ['Enter'], label: t('keys.openNode'), run: enter },
      { keys: ['Escape'], label: t('keys.leaveNode'), run: leave },
      { keys: ['+', '='], label: t('keys.zoomIn'), run: () => zoom(1.5) },
      { keys: ['-'], label: t('keys.zoomOut'), run: () => zoom(1 / 1.5) },
      {
        keys: ['z'],
        label: t('keys.zoomToNode'),
        run: () => (scene.node === NONE ? false : approach(scene.node)),
      },
      { keys: ['f', '0'], label: t('keys.fit'), run: () => setCamera(FIT) },
    ],
    box,
  );

  return (
    <div className={shared.canvas}>
      <div
        ref={box}
        className={css.box}
        role="application"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the cells are navigated with the arrow keys
        tabIndex={0}
        aria-label={t('physical.canvas', {
          nodes: count(scene.data.nodes_total),
          workers: count(scene.data.workers_total),
        })}
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          pressed.current = { ...at(event), camera, moved: false };
        }}
        onPointerMove={(event) => {
          const { x, y } = at(event);
          const press = pressed.current;
          if (press === null || event.buttons === 0) {
            pressed.current = null;
            const target = hit(x, y);
            setHover(target.node === NONE ? null : { ...target, x, y });
            return;
          }
          if (!press.moved && Math.hypot(x - press.x, y - press.y) < CLICK_TOLERANCE) return;
          if (!press.moved) event.currentTarget.setPointerCapture(event.pointerId);
          press.moved = true;
          setHover(null);
          setCamera({ ...press.camera, x: press.camera.x + x - press.x, y: press.camera.y + y - press.y });
        }}
        onPointerUp={(event) => {
          const press = pressed.current;
          pressed.current = null;
          if (press === null || press.moved) return;
          const { x, y } = at(event);
          onSelect(hit(x, y));
        }}
        onPointerLeave={() => setHover(null)}
        onDoubleClick={(event) => {
          const { x, y } = at(event);
          const { node } = hit(x, y);
          if (node !== NONE) approach(node);
        }}
        data-testid="physical-canvas"
      >
        <canvas ref={canvas} className={layout.canvas} data-picture aria-hidden />
        {hover !== null && <PhysicalTooltip scene={scene} {...hover} size={size} />}
      </div>
      <div className={css.zoom}>
        <Zoom label={t('physical.closer')} onClick={() => zoom(1.5)}>
          <IconPlus size={15} />
        </Zoom>
        <Zoom label={t('physical.farther')} onClick={() => zoom(1 / 1.5)}>
          <IconMinus size={15} />
        </Zoom>
        <Zoom label={t('physical.fit')} onClick={() => setCamera(FIT)}>
          <IconArrowsMaximize size={15} />
        </Zoom>
      </div>
    </div>
  );
}

function Zoom(props: { label: string; onClick: () => void; children: React.ReactNode }) {
  return (
    <Tooltip label={props.label} position="left">
      <ActionIcon size={26} variant="default" aria-label={props.label} onClick={props.onClick}>
        {props.children}
      </ActionIcon>
    </Tooltip>
  );
}
