import { useTranslation } from 'react-i18next';
import { count } from '../../base/format';
import words from '../../ui/theme/words.module.css';
import panels from '../shared/panels.module.css';
import type { Physical } from './physical';

/** How much of a large cluster is not drawn. */
export function PhysicalLeftOut({ data }: { data: Physical }) {
  const { t } = useTranslation();
  const nodes = data.nodes_total - data.nodes.length;
  const bundles = data.bundles_total - data.bundles.length;
  if (nodes <= 0 && data.workers_left_out <= 0 && bundles <= 0) return null;
  return (
    <div className={`${panels.note} ${words.dim}`} data-testid="physical-left-out">
      {nodes > 0 && t('physical.nodesLeftOut', { n: count(nodes) })}{' '}
      {data.workers_left_out > 0 && t('physical.workersLeftOut', { n: count(data.workers_left_out) })}{' '}
      {bundles > 0 && t('physical.bundlesLeftOut', { n: count(bundles) })}
    </div>
  );
}
