import { useTranslation } from 'react-i18next';
import type { NodeRow } from '../../api/nodes';
import { Badge } from '../../ui/Badge';
import { useNodeTitle } from '../../ui/NodeLabel';
import words from '../../ui/theme/words.module.css';
import css from './NodeName.module.css';

/** A node in a table: its name, its id on hover, and a badge for the head node. */
export function NodeName({ node }: { node: NodeRow }) {
  const name = useNodeTitle()(node.node_id, node);
  return (
    <span className={css.name}>
      <span className={words.ellipsis} title={`${name}\n${node.node_id}`}>
        {name}
      </span>
      <HeadBadge head={node.is_head} />
    </span>
  );
}

export function HeadBadge({ head }: { head: boolean | null }) {
  const { t } = useTranslation();
  return head ? <Badge>{t('nodes.head')}</Badge> : null;
}
