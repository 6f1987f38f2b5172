import { useTranslation } from 'react-i18next';
import { MEASURES, type Measure } from '../../api/nodes';
import { bytes, count } from '../../base/format';
import { NONE } from '../../base/grid';
import { type Size, tipPlace } from '../../ui/canvas';
import { percentText } from '../../ui/Meter';
import tips from '../../ui/theme/tip.module.css';
import words from '../../ui/theme/words.module.css';
import css from './MachineTooltip.module.css';
import { type Machine, nodeValue, workerValue } from './machine';

export interface Spot {
  node: number;
  worker: number;
}

/** Details of the cell under the pointer: a node, a dead node, or a worker. */
export function MachineTooltip(
  props: { machine: Machine; measure: Measure; size: Size; x: number; y: number } & Spot,
) {
  const { machine, node, worker, x, y, size } = props;
  const { t } = useTranslation();
  const { cells } = machine;
  const dead = cells.dead[node - cells.nodes.node_id.length];
  const { measured, workers } = cells;
  const runs = cells.functions[workers.function[worker] ?? NONE];
  const isDriver = cells.kinds[workers.kind[worker] ?? NONE] === 'DRIVER';
  const actor = cells.classes[workers.actor_class[worker] ?? NONE];
  return (
    <div className={tips.tip} style={tipPlace(x, y, size)} role="status" data-testid="machine-tip">
      {dead !== undefined ? (
        <>
          <b>{machine.names[node]}</b>
          <div className={words.dim}>{dead.node_id.slice(0, 12)}…</div>
          <div>
            {t('nodes.deadCell')}
            {dead.death_reason !== null && `: ${dead.death_reason}`}
          </div>
        </>
      ) : worker === NONE ? (
        <>
          <b>{machine.names[node]}</b> {cells.nodes.is_head[node] && t('nodes.head')}
          <div className={words.dim}>{cells.nodes.node_id[node]?.slice(0, 12)}…</div>
          {MEASURES.filter((one) => (measured.nodes[one][node] ?? -1) >= 0).map((one) => (
            <div key={one} className={css.line}>
              <span>{t(`nodes.${one}`)}</span>
              <span className={words.num}>{percentText(measured.nodes[one][node])}</span>
            </div>
          ))}
          {nodeValue(machine, node) === null && <div className={words.dim}>{t('nodes.notMeasured')}</div>}
          <div className={css.line}>
            <span>{t('nodes.workers')}</span>
            <span className={words.num}>{count(cells.nodes.workers[node])}</span>
          </div>
          {(cells.nodes.internal[node] ?? 0) > 0 && (
            <div className={words.dim}>{t('internal.counted', { n: count(cells.nodes.internal[node]) })}</div>
          )}
        </>
      ) : (
        <>
          <b>{actor ?? runs ?? t(isDriver ? 'physical.driver' : 'running.idle')}</b>
          <div className={words.dim}>
            {t('physical.pid', { pid: workers.pid[worker] ?? '–' })} · {machine.names[node]}
          </div>
          {workers.is_internal[worker] && <div className={words.dim}>{t('internal.process')}</div>}
          {runs !== undefined && actor !== undefined && <div>{t('nodes.running', { name: runs })}</div>}
          <div className={css.line}>
            <span>{t('nodes.cpu')}</span>
            <span className={words.num}>{percentText(measured.cpu[worker])}</span>
          </div>
          <div className={css.line}>
            <span>{t('nodes.memory')}</span>
            <span className={words.num}>
              {(measured.memory[worker] ?? -1) < 0 ? '–' : bytes(measured.memory[worker])}
            </span>
          </div>
          {(measured.gpu_memory[worker] ?? 0) > 0 && (
            <div className={css.line}>
              <span>{t('nodes.gpu_memory')}</span>
              <span className={words.num}>{bytes(measured.gpu_memory[worker])}</span>
            </div>
          )}
          {workerValue(machine, worker) === null && <div className={words.dim}>{t('nodes.notMeasured')}</div>}
        </>
      )}
    </div>
  );
}
