import { useTranslation } from 'react-i18next';
import type { NodeDetail } from '../../api/schema';
import { bytes, count } from '../../base/format';
import { Section } from '../../ui/Drawer';
import { ofText, percentText } from '../../ui/Meter';
import words from '../../ui/theme/words.module.css';
import { AmountTable, Holders } from './ClusterResources';
import shared from './nodes.module.css';

/** A node's resources with their holders, its disks, and Ray's own processes. */
export function NodeResources({ node }: { node: NodeDetail }) {
  const { t } = useTranslation();
  return (
    <>
      <Section title={t('nodes.resources')}>
        {node.resources === null ? (
          <p className={words.dim}>{t('nodes.noResources')}</p>
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
                  <td className={words.breaks}>{disk.path}</td>
                  <td className={words.num}>
                    {percentText((100 * disk.used_bytes) / (disk.used_bytes + disk.free_bytes || 1))}
                  </td>
                  <td className={words.num}>{ofText(disk.used_bytes, disk.used_bytes + disk.free_bytes)}</td>
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
                <th data-align="right">{t('nodes.pid')}</th>
                <th data-align="right">{t('nodes.cpu')}</th>
                <th data-align="right">{t('nodes.memory')}</th>
                <th data-align="right">{t('nodes.files')}</th>
              </tr>
            </thead>
            <tbody>
              {node.processes.map((process) => (
                <tr key={process.pid}>
                  <td>{process.name}</td>
                  <td data-align="right" className={words.num}>
                    {process.pid}
                  </td>
                  <td data-align="right" className={words.num}>
                    {percentText(process.cpu_percent)}
                  </td>
                  <td data-align="right" className={words.num}>
                    {bytes(process.memory_bytes)}
                  </td>
                  <td data-align="right" className={words.num}>
                    {count(process.num_fds)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Section>
      )}
    </>
  );
}
