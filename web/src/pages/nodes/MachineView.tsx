import { Loader, Select } from '@mantine/core';
import { useCallback, useEffect, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { MEASURES } from '../../api/nodes';
import type { CellsAnswer } from '../../api/schema';
import { count } from '../../base/format';
import { indexAt, isInside, NONE } from '../../base/grid';
import { withSettings } from '../../base/url';
import { type Size, useCanvas, usePalette } from '../../ui/canvas';
import { ErrorPanel } from '../../ui/ErrorPanel';
import layout from '../../ui/theme/layout.module.css';
import words from '../../ui/theme/words.module.css';
import { useKeys } from '../../ui/useKeys';
import { useServerMessage } from '../../ui/useServerMessage';
import { useSessionUrl } from '../../ui/useUrl';
import { MachineTooltip, type Spot } from './MachineTooltip';
import css from './MachineView.module.css';
import { cellOf, MARGIN, machineGrid, machineOf, workerBoxes } from './machine';
import { drawMachine } from './machineDraw';
import { NoNodes } from './NoNodes';
import { useCells } from './useNodes';

const NO_SPOT: Spot = { node: NONE, worker: NONE };

/** All nodes and workers as cells. Their colour shows their usage. */
export function MachineView(props: { openKey: string | undefined; onOpen: (id: string) => void }) {
  const [url] = useSessionUrl();
  const query = useCells(url.session);
  if (query.error !== null && query.data === undefined)
    return <ErrorPanel error={query.error} onRetry={() => void query.refetch()} />;
  if (query.data === undefined)
    return (
      <div className={layout.view} aria-busy="true">
        <Loader size="sm" m="md" />
      </div>
    );
  if (query.data.nodes.node_id.length + query.data.dead.length === 0) return <NoNodes />;
  return <Drawn cells={query.data} {...props} />;
}

function Drawn(props: { cells: CellsAnswer; openKey: string | undefined; onOpen: (id: string) => void }) {
  const { cells, onOpen } = props;
  const [url, change] = useSessionUrl();
  const { t } = useTranslation();
  const translate = useServerMessage();
  const palette = usePalette();
  const measure = MEASURES.find((one) => one === url.settings?.color) ?? 'cpu';
  const fullest = url.settings?.order === 'used';
  const [spot, setSpot] = useState<Spot>(NO_SPOT);
  const [hover, setHover] = useState<(Spot & { x: number; y: number }) | null>(null);
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  const machine = useMemo(() => machineOf(cells, measure, fullest), [cells, measure, fullest]);
  const cellCount = machine.order.length;
  const grid = useMemo(() => machineGrid(cellCount, size.width, size.height), [cellCount, size]);
  const idOf = (node: number) =>
    cells.nodes.node_id[node] ?? cells.dead[node - cells.nodes.node_id.length]?.node_id;
  const open = props.openKey === undefined ? NONE : cells.nodes.node_id.indexOf(props.openKey);
  const texts = useMemo(
    () => ({
      unknown: '–',
      dead: t('nodes.deadCell'),
      internal: t('internal.process'),
      driver: t('nodes.kinds.DRIVER'),
      worker: t('nodes.kinds.WORKER'),
    }),
    [t],
  );
  const draw = useCallback(
    (context: CanvasRenderingContext2D) =>
      drawMachine(context, machine, grid, palette, { ...spot, open }, texts),
    [machine, grid, palette, spot, open, texts],
  );
  const { box, canvas, size: measured } = useCanvas(draw);
  useEffect(() => setSize(measured), [measured]);

  const hit = (x: number, y: number): Spot => {
    const place = indexAt(grid, x - MARGIN, y - MARGIN);
    const node = machine.order[place];
    if (node === undefined) return NO_SPOT;
    const cell = cellOf(grid, place);
    if (!isInside(cell, x, y)) return NO_SPOT;
    const slot = workerBoxes(machine, cell, node).findIndex((one) => isInside(one, x, y));
    return { node, worker: machine.workers[node]?.[slot] ?? NONE };
  };
  const walk = (key: string): boolean => {
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -grid.columns, ArrowDown: grid.columns }[key];
    if (step !== undefined) {
      const place = machine.order.indexOf(spot.node);
      const node = machine.order[place < 0 ? 0 : place + step];
      if (node !== undefined) {
        setSpot({ node, worker: NONE });
        const cell = cellOf(grid, machine.order.indexOf(node));
        setHover({ node, worker: NONE, x: cell.x + cell.width / 2, y: cell.y + cell.height / 2 });
      }
      return true;
    }
    return false;
  };
  const openSpot = () => {
    const id = idOf(spot.node);
    return id === undefined ? false : onOpen(id);
  };
  useKeys(
    t('keys.chart'),
    [
      {
        keys: ['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight'],
        label: t('keys.move'),
        run: ({ key }) => walk(key),
      },
      { keys: ['Enter'], label: t('keys.openNode'), run: openSpot },
    ],
    box,
  );
  const internal = cells.nodes.internal.reduce((sum, one) => sum + one, 0);
  return (
    <div className={layout.view}>
      <div className={css.bar}>
        <span className={words.num} data-testid="machine-count">
          {t('nodes.counted', {
            nodes: count(cells.nodes_total),
            workers: count(cells.workers_total - internal),
          })}
          {internal > 0 && (
            <>
              {' · '}
              <span title={t('internal.hint')} data-testid="machine-internal">
                <span className={css.internal} aria-hidden />
                {t('internal.counted', { n: count(internal) })}
              </span>
            </>
          )}
          {cells.dead.length > 0 && ` · ${t('nodes.deadCounted', { n: count(cells.dead.length) })}`}
        </span>
        {cells.workers_left_out > 0 && (
          <span className={words.dim}>{t('nodes.leftOut', { n: count(cells.workers_left_out) })}</span>
        )}
        <span className={css.scale}>
          <span className={words.dim}>0%</span>
          <span className={css.ramp} aria-hidden />
          <span className={words.dim}>100%</span>
        </span>
        <Select
          size="xs"
          w={150}
          aria-label={t('nodes.colorBy')}
          value={measure}
          allowDeselect={false}
          data={MEASURES.map((value) => ({ value, label: t(`nodes.${value}`) }))}
          onChange={(value) =>
            change((before) =>
              withSettings(before, { color: value === 'cpu' ? undefined : (value ?? undefined) }),
            )
          }
          data-testid="machine-color"
        />
        <Select
          size="xs"
          w={140}
          aria-label={t('physical.choice.order')}
          value={fullest ? 'used' : 'name'}
          allowDeselect={false}
          data={(['name', 'used'] as const).map((value) => ({ value, label: t(`nodes.orderBy.${value}`) }))}
          onChange={(value) =>
            change((before) => withSettings(before, { order: value === 'used' ? 'used' : undefined }))
          }
          data-testid="machine-order"
        />
      </div>
      <p className={`${words.dim} ${css.note}`}>
        {cells.usage_error === null || cells.measured.nodes[measure].some((value) => value >= 0)
          ? t(`nodes.shareOf.${measure}`)
          : translate({ code: cells.usage_code, params: cells.usage_params, message: cells.usage_error })
              .message}
      </p>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: Enter opens a node, see useKeys above. */}
      <div
        ref={box}
        className={css.box}
        role="application"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the cells are navigated with the arrow keys
        tabIndex={0}
        aria-label={t('nodes.machine', {
          nodes: count(cells.nodes_total),
          workers: count(cells.workers_total),
        })}
        onPointerMove={(event) => {
          const { left, top } = event.currentTarget.getBoundingClientRect();
          const [x, y] = [event.clientX - left, event.clientY - top];
          const found = hit(x, y);
          setHover(found.node === NONE ? null : { ...found, x, y });
        }}
        onPointerLeave={() => setHover(null)}
        onClick={(event) => {
          const { left, top } = event.currentTarget.getBoundingClientRect();
          const found = hit(event.clientX - left, event.clientY - top);
          setSpot(found);
          const id = idOf(found.node);
          if (id !== undefined) onOpen(id);
        }}
        onBlur={() => setHover(null)}
        data-testid="machine-canvas"
      >
        <canvas ref={canvas} className={layout.canvas} aria-hidden />
        {hover !== null && <MachineTooltip machine={machine} measure={measure} size={size} {...hover} />}
      </div>
    </div>
  );
}
