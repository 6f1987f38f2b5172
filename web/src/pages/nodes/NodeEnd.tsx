import { useTranslation } from 'react-i18next';
import type { NodeRow } from '../../api/nodes';
import { time } from '../../base/format';
import words from '../../ui/theme/words.module.css';
import shared from './nodes.module.css';

/** When a node died and why, or that it ended with its cluster, which is no fault. */
export function NodeEnd({ node }: { node: Pick<NodeRow, 'end_ns' | 'end_known_by' | 'death_reason'> }) {
  const { t } = useTranslation();
  const at = time(node.end_ns);
  return node.end_known_by === 'session' ? (
    <span className={words.dim}>{t('nodes.endedWithCluster', { time: at })}</span>
  ) : (
    <span className={shared.dead}>
      {t('nodes.died', { time: at, reason: node.death_reason ?? t('nodes.noReason') })}
    </span>
  );
}
