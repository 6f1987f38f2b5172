import { Button, Skeleton } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { missingOf, type NodeRow } from '../../api/nodes';
import type { LiveList } from '../../api/useLiveList';
import { count, time } from '../../base/format';
import { nodeTitle } from '../../base/nodeTitle';
import { NoMatches } from '../../ui/EmptyState';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { ItemState } from '../../ui/ItemState';
import { Meter, ofText, rateText } from '../../ui/Meter';
import layout from '../../ui/theme/layout.module.css';
import words from '../../ui/theme/words.module.css';
import { useServerMessage } from '../../ui/useServerMessage';
import { useSessionUrl } from '../../ui/useUrl';
import css from './NodeCards.module.css';
import { NodeEnd } from './NodeEnd';
import { HeadBadge } from './NodeName';
import { NoNodes } from './NoNodes';
import shared from './nodes.module.css';

/** The nodes as cards with all their measurements. */
export function NodeCards(props: {
  list: LiveList<NodeRow>;
  openKey: string | undefined;
  onOpen: (node: NodeRow) => void;
}) {
  const { list } = props;
  const [{ filters }] = useSessionUrl();
  const { t } = useTranslation();
  if (list.error !== null && list.rows.length === 0) return <ErrorPanel error={list.error} />;
  if (list.loading)
    return (
      <div className={css.cards}>
        {[1, 2, 3, 4].map((one) => (
          <Skeleton key={one} height={190} radius="md" />
        ))}
      </div>
    );
  if (list.rows.length === 0) return Object.keys(filters).length > 0 ? <NoMatches /> : <NoNodes />;
  return (
    <div className={layout.scroll} data-testid="node-cards" data-outdated={list.outdated || undefined}>
      <div className={css.cards}>
        {list.rows.map((node) => (
          <button
            key={node.node_id}
            type="button"
            className={css.card}
            data-testid="node-card"
            data-open={node.node_id === props.openKey || undefined}
            onClick={() => props.onOpen(node)}
          >
            <Card node={node} />
          </button>
        ))}
      </div>
      {list.hasMore && (
        <Button
          variant="default"
          size="xs"
          m="md"
          loading={list.loadingMore}
          onClick={list.loadMore}
          data-testid="node-cards-more"
        >
          {t('nodes.more')}
        </Button>
      )}
    </div>
  );
}

function Card({ node }: { node: NodeRow }) {
  const { t } = useTranslation();
  const { usage } = node;
  const missing = useServerMessage()(missingOf(node));
  return (
    <>
      <span className={css.cardHead}>
        <ItemState state={node.state} label={nodeTitle(node)} />
        <HeadBadge head={node.is_head} />
        <span className={`${words.num} ${words.dim} ${css.cardId}`}>{node.node_id.slice(0, 8)}</span>
      </span>
      {usage === null ? (
        <span className={`${words.dim} ${css.cardNote}`} title={missing.remedy ?? undefined}>
          {missing.message}
        </span>
      ) : (
        <Figures node={node} />
      )}
      {node.state === 'DEAD' && (
        <span className={css.cardNote}>
          <NodeEnd node={node} />
        </span>
      )}
      {usage !== null && !usage.current && (
        <span className={`${words.dim} ${css.cardNote}`} title={t('nodes.lastKnownHint')}>
          {usage.usage_ns === null
            ? t('nodes.notMeasured')
            : t('nodes.lastKnown', { time: time(usage.usage_ns) })}
        </span>
      )}
      <span className={`${css.cardFoot} ${words.dim}`}>
        <span>{node.node_ip}</span>
        <span className={words.num}>
          {t('nodes.workers')} {count(node.workers ?? 0)}
        </span>
      </span>
    </>
  );
}

/** The usage of one node, a line per resource. */
export function Figures({ node }: { node: Pick<NodeRow, 'usage'> }) {
  const { t } = useTranslation();
  const { usage } = node;
  if (usage === null) return null;
  const old = !usage.current;
  const lines: [string, number | null, string | undefined][] = [
    [
      'cpu',
      usage.cpu_percent,
      usage.load_1 === null ? undefined : `${t('nodes.load')} ${usage.load_1.toFixed(2)}`,
    ],
    ['memory', usage.mem_percent, ofText(usage.mem_used_bytes, usage.mem_total_bytes)],
    ['disk', usage.disk_percent, ofText(usage.disk_used_bytes, usage.disk_total_bytes)],
    [
      'object_store',
      usage.object_store_percent,
      ofText(usage.object_store_used_bytes, usage.object_store_total_bytes),
    ],
    ['gpu', usage.gpu_percent, usage.gpus === null ? undefined : `${usage.gpus} GPU`],
    ['gpu_memory', usage.gpu_mem_percent, ofText(usage.gpu_mem_used_bytes, usage.gpu_mem_total_bytes)],
  ];
  return (
    <span className={shared.figures}>
      {lines
        .filter(([, percent]) => percent !== null)
        .map(([name, percent, text]) => (
          <span key={name} className={shared.figure}>
            <span className={`${words.dim} ${words.ellipsis}`}>{t(`nodes.${name}` as 'nodes.cpu')}</span>
            <Meter percent={percent} old={old} text={text} />
          </span>
        ))}
      {usage.net_sent_bytes_s !== null && (
        <span className={shared.figure}>
          <span className={`${words.dim} ${words.ellipsis}`}>{t('nodes.network')}</span>
          <span className={words.num}>
            {rateText(usage.net_sent_bytes_s)} · {rateText(usage.net_recv_bytes_s)}
          </span>
        </span>
      )}
      {usage.disk_read_bytes_s !== null && (
        <span className={shared.figure}>
          <span className={`${words.dim} ${words.ellipsis}`}>{t('nodes.diskIo')}</span>
          <span className={words.num}>
            {rateText(usage.disk_read_bytes_s)} · {rateText(usage.disk_write_bytes_s)}
          </span>
        </span>
      )}
    </span>
  );
}
