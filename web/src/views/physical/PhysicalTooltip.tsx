import { useTranslation } from 'react-i18next';
import { amount, bytes, count } from '../../base/format';
import { NONE } from '../../base/grid';
import { type Size, tipPlace } from '../../ui/canvas';
import { percentText } from '../../ui/Meter';
import tips from '../../ui/theme/tip.module.css';
import words from '../../ui/theme/words.module.css';
import { labelOf, type Scene, usedText } from './physicalScene';

/** Details of what is under the pointer. */
export function PhysicalTooltip(props: {
  scene: Scene;
  node: number;
  worker: number;
  x: number;
  y: number;
  size: Size;
}) {
  const { scene, node, worker, x, y, size } = props;
  const { t } = useTranslation();
  const { workers, nodes, kinds, reserved, states, values, bundles, measured } = scene.data;
  const about = nodes[node];
  if (about === undefined) return null;
  const [first, second] = worker === NONE ? [scene.names[node] ?? about.name, ''] : labelOf(scene, worker);
  const state = states[workers.actor_state[worker] ?? NONE];
  const held = Object.entries(reserved[workers.reserved[worker] ?? NONE] ?? {});
  const bundle = bundles[workers.bundle[worker] ?? NONE];
  const value = values[workers.annotation[worker] ?? NONE];
  return (
    <div className={tips.tip} style={tipPlace(x, y, size)}>
      <b className={words.breaks}>{first}</b>{' '}
      {second !== '' && <span className={words.breaks}>{second}</span>}
      {worker === NONE ? (
        <>
          <div>{t('physical.tipNode', { workers: count(about.workers), running: count(about.running) })}</div>
          <div className={words.dim}>{usedText(about)}</div>
        </>
      ) : (
        <>
          <div className={words.dim}>
            {t('physical.pid', { pid: workers.pid[worker] ?? '–' })} · {scene.names[node]}
            {state !== undefined && ` · ${state}`}
          </div>
          {held.length > 0 && (
            <div>
              {t('physical.holds')}:{' '}
              {held.map(([name, value]) => `${amount(name, value)} ${name}`).join(', ')}
            </div>
          )}
          {measured !== null && (measured.memory[worker] ?? NONE) >= 0 && (
            <div>
              {t('nodes.cpu')} {percentText(measured.cpu[worker])} · {t('nodes.memory')}{' '}
              {bytes(measured.memory[worker])}
              {(measured.gpu_memory[worker] ?? 0) > 0 &&
                ` · ${t('nodes.gpu_memory')} ${bytes(measured.gpu_memory[worker])}`}
            </div>
          )}
          {(workers.bytes[worker] ?? 0) > 0 && (
            <div>{t('physical.made', { size: bytes(workers.bytes[worker]) })}</div>
          )}
          {(workers.blocked[worker] ?? 0) > 0 && (
            <div>
              {kinds[workers.kind[worker] ?? NONE] === 'DRIVER'
                ? t('physical.blocked')
                : t('physical.tipBlocked', { n: count(workers.blocked[worker]) })}
            </div>
          )}
          {bundle !== undefined && (
            <div>
              {t('physical.bundle', { name: bundle.name ?? bundle.group.slice(0, 8), index: bundle.index })}
            </div>
          )}
          {value !== undefined && scene.color.by === 'annotation' && (
            <div className={words.breaks}>
              {scene.color.name}: {value}
            </div>
          )}
        </>
      )}
    </div>
  );
}
