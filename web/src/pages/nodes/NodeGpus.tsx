import { IconServer2 } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { MeasuredWorker, NodeDetail } from '../../api/schema';
import { bytes } from '../../base/format';
import { Section } from '../../ui/Drawer';
import { EmptyState } from '../../ui/EmptyState';
import { Gpus } from '../../ui/Gpus';
import { ItemLink } from '../../ui/ItemLink';
import { Meter, ofText, percentText } from '../../ui/Meter';
import { Running } from '../../ui/Running';
import words from '../../ui/theme/words.module.css';
import shared from './nodes.module.css';

/** The GPUs of a node and the memory that each process uses on them. */
export function NodeGpus({ node }: { node: NodeDetail }) {
  const { t } = useTranslation();
  const holders = node.workers.filter((worker) => worker.gpus.length > 0);
  if (node.gpus.length === 0 && holders.length === 0)
    return (
      <div className={shared.empty}>
        <EmptyState icon={<IconServer2 size={24} />} title={t('nodes.noGpus')} />
      </div>
    );
  const old = node.usage !== null && !node.usage.current;
  const measured = node.gpus.map((gpu) => (
    <Section
      key={gpu.uuid || gpu.index}
      testId="node-gpu"
      title={`${gpu.index} · ${gpu.name}`}
      right={
        <span className={`${words.dim} ${words.num}`}>
          {gpu.power_watts !== null && t('nodes.power', { n: Math.round(gpu.power_watts) })}{' '}
          {gpu.temperature_c !== null && t('nodes.temperature', { n: Math.round(gpu.temperature_c) })}
        </span>
      }
    >
      <span className={shared.figures}>
        <span className={shared.figure}>
          <span className={words.dim}>{t('nodes.gpu')}</span>
          <Meter percent={gpu.utilization} old={old} />
        </span>
        <span className={shared.figure}>
          <span className={words.dim}>{t('nodes.gpu_memory')}</span>
          <Meter
            percent={
              gpu.memory_used_bytes === null || !gpu.memory_total_bytes
                ? null
                : (100 * gpu.memory_used_bytes) / gpu.memory_total_bytes
            }
            old={old}
            text={ofText(gpu.memory_used_bytes, gpu.memory_total_bytes)}
          />
        </span>
      </span>
      {gpu.processes.length === 0 ? (
        <p className={words.dim}>{t('nodes.noProcess')}</p>
      ) : (
        <table className={shared.amounts}>
          <thead>
            <tr>
              <th>{t('nodes.process')}</th>
              <th data-align="right">{t('nodes.gpu_memory')}</th>
              <th data-align="right">{t('nodes.gpu')}</th>
              <th>{t('nodes.actor')}</th>
            </tr>
          </thead>
          <tbody>
            {gpu.processes.map((process) => (
              <tr key={process.pid}>
                <td>
                  <span className={words.num}>{process.pid}</span>{' '}
                  {process.worker_id !== null && <ItemLink view="workers" id={process.worker_id} />}
                </td>
                <td data-align="right" className={words.num}>
                  {bytes(process.memory_bytes)}
                </td>
                <td data-align="right" className={words.num}>
                  {percentText(process.percent)}
                </td>
                <td>
                  {process.actor_class}{' '}
                  {process.actor_id !== null && <ItemLink view="actors" id={process.actor_id} />}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Section>
  ));
  return (
    <>
      {holders.length > 0 && <AssignedGpus workers={holders} />}
      {measured}
    </>
  );
}

/** The GPUs that Ray assigned to actors and tasks. Their actual usage is measured separately. */
function AssignedGpus({ workers }: { workers: readonly MeasuredWorker[] }) {
  const { t } = useTranslation();
  return (
    <Section title={<span title={t('gpu.givenHint')}>{t('gpu.given')}</span>} testId="node-given-gpus">
      <table className={shared.amounts}>
        <thead>
          <tr>
            <th>{t('field.gpus')}</th>
            <th>{t('nodes.process')}</th>
            <th>{t('nodes.actor')}</th>
            <th>{t('nodes.runs')}</th>
          </tr>
        </thead>
        <tbody>
          {workers.map((worker) => (
            <tr key={worker.worker_id}>
              <td>
                <Gpus gpus={worker.gpus} />
              </td>
              <td className={words.num}>{worker.pid}</td>
              <td>
                {worker.actor_class}{' '}
                {worker.actor_id !== null && <ItemLink view="actors" id={worker.actor_id} />}
              </td>
              <td>
                <Running worker={worker} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Section>
  );
}
