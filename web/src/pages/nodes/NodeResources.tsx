import { useTranslation } from 'react-i18next';
import type { NodeDetail } from '../../api/nodes';
import { bytes, count } from '../../base/format';
import { Section } from '../../ui/Drawer';
import { ofText, percentText } from '../../ui/Meter';
import { AmountTable, Holders } from './ClusterResources';
import shared from './nodes.module.css';

/** A node's resources and who holds them, its disks, and Ray's own processes. */
export function NodeResources({ node }: { node: NodeDetail }) {
  const { t } = useTranslation();
  return (
    <>
      <Section title={t('nodes.resources')}>
        {node.resources === null ? (
          <p className="rs-dim">{t('nodes.noResources')}</p>
        ) : (
          <AmountTable amounts={node.resources} />
        )}
      </Section>
      <Section title={t('nodes.byWhom')}>
        <Holders by={node.by} />
      </Section>
      {node.measured !== null && node.measured.disks.length > 0 && (
        <Section title={t('nodes.disk')}>
          <table className={shared.amounts}>
            <tbody>
              {node.measured.disks.map((disk) => (
                <tr key={disk.path}>
                  <td className="rs-break">{disk.path}</td>
                  <td className="rs-num">
                    {percentText((100 * disk.used_bytes) / (disk.used_bytes + disk.free_bytes || 1))}
                  </td>
                  <td className="rs-num">{ofText(disk.used_bytes, disk.used_bytes + disk.free_bytes)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Section>
      )}
      {node.processes.length > 0 && (
        <Section title={t('nodes.rayProcesses')}>
          <table className={shared.amounts}>
            <thead>
              <tr>
                <th>{t('nodes.process')}</th>
                <th className="rs-right">{t('nodes.pid')}</th>
                <th className="rs-right">{t('nodes.cpu')}</th>
                <th className="rs-right">{t('nodes.memory')}</th>
                <th className="rs-right">{t('nodes.files')}</th>
              </tr>
            </thead>
            <tbody>
              {node.processes.map((process) => (
                <tr key={process.pid}>
                  <td>{process.name}</td>
                  <td className="rs-num rs-right">{process.pid}</td>
                  <td className="rs-num rs-right">{percentText(process.cpu_percent)}</td>
                  <td className="rs-num rs-right">{bytes(process.memory_bytes)}</td>
                  <td className="rs-num rs-right">{count(process.num_fds)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Section>
      )}
    </>
  );
}
