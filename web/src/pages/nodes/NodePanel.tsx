import { Tabs } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { missingOf, usersWorkers } from '../../api/nodes';
import { type AlertsTopic, useTopic } from '../../api/realtime';
import type { NodeDetail } from '../../api/schema';
import { count, time } from '../../base/format';
import { toView, withSettings } from '../../base/url';
import { alertTone } from '../../ui/alerts/severity';
import { useAnnotations } from '../../ui/alerts/useAnnotations';
import { Badge } from '../../ui/Badge';
import { CopyId } from '../../ui/CopyId';
import { DeathCause } from '../../ui/DeathCause';
import { Drawer } from '../../ui/Drawer';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { ItemState } from '../../ui/ItemState';
import { Link } from '../../ui/Link';
import { useNodeTitle } from '../../ui/NodeLabel';
import { Profile } from '../../ui/Profile';
import { PanelLine } from '../../ui/panels/PanelLine';
import words from '../../ui/theme/words.module.css';
import { useServerMessage } from '../../ui/useServerMessage';
import { useSessionUrl } from '../../ui/useUrl';
import { NodeAbout } from './NodeAbout';
import { Figures } from './NodeCards';
import { NodeCharts } from './NodeCharts';
import { NodeEnd } from './NodeEnd';
import { NodeEvents } from './NodeEvents';
import { NodeGpus } from './NodeGpus';
import { HeadBadge } from './NodeName';
import css from './NodePanel.module.css';
import { NodeResources } from './NodeResources';
import { NodeWorkers } from './NodeWorkers';
import shared from './nodes.module.css';
import { useNodeDetail } from './useNodes';

const TABS = ['workers', 'resources', 'gpus', 'charts', 'events', 'about'] as const;
type Tab = (typeof TABS)[number];

/** A node in full. */
export function NodePanel({ id, onClose }: { id: string; onClose: () => void }) {
  const [url, change] = useSessionUrl();
  const { t } = useTranslation();
  const query = useNodeDetail(url.session, id);
  const { data } = query;
  const titleOf = useNodeTitle();
  const tab: Tab = TABS.find((one) => one === url.settings?.tab) ?? 'workers';
  return (
    <Drawer
      testId="item-drawer"
      title={data === undefined ? id.slice(0, 12) : titleOf(id, data)}
      subtitle={
        data !== undefined && (
          <>
            <ItemState state={data.state} />
            <HeadBadge head={data.is_head} />
            {data.is_draining && <Badge>{t('nodes.draining')}</Badge>}
            <CopyId id={data.node_id} />
            <span className={words.dim}>{data.node_ip}</span>
            {(['tasks', 'gantt', 'workers'] as const).map((view) => (
              <Link key={view} to={toView(url, view, { node_id: id })} className={words.link}>
                {t(`nav.${view}`)}
              </Link>
            ))}
            <Link to={withSettings(toView(url, 'logs'), { node: id })} className={words.link}>
              {t('nav.logs')}
            </Link>
          </>
        )
      }
      onClose={onClose}
    >
      {data === undefined ? (
        query.error !== null && <ErrorPanel error={query.error} onRetry={() => void query.refetch()} />
      ) : (
        <>
          <Top node={data} />
          <Tabs
            value={tab}
            onChange={(value) =>
              change((before) =>
                withSettings(before, { tab: value === 'workers' ? undefined : (value ?? undefined) }),
              )
            }
            keepMounted={false}
            className={css.tabs}
          >
            <Tabs.List>
              {TABS.map((one) => (
                <Tabs.Tab key={one} value={one} data-testid={`node-tab-${one}`}>
                  {t(`nodes.tabs.${one}`)}
                  {one === 'workers' && (
                    <span className={`${words.num} ${words.dim}`}> {count(usersWorkers(data).total)}</span>
                  )}
                  {one === 'gpus' && data.gpus.length > 0 && (
                    <span className={`${words.num} ${words.dim}`}> {count(data.gpus.length)}</span>
                  )}
                </Tabs.Tab>
              ))}
            </Tabs.List>
            <Tabs.Panel value="workers">
              <NodeWorkers node={data} />
              <Profile of={{ node_id: id }} canRun={data.state !== 'DEAD'} />
            </Tabs.Panel>
            <Tabs.Panel value="resources">
              <NodeResources node={data} />
            </Tabs.Panel>
            <Tabs.Panel value="gpus">
              <NodeGpus node={data} />
            </Tabs.Panel>
            <Tabs.Panel value="charts">
              <NodeCharts node={data} />
            </Tabs.Panel>
            <Tabs.Panel value="events">
              <NodeEvents node={data} />
            </Tabs.Panel>
            <Tabs.Panel value="about">
              <NodeAbout node={data} />
            </Tabs.Panel>
          </Tabs>
        </>
      )}
    </Drawer>
  );
}

/** A node's state and usage. */
function Top({ node }: { node: NodeDetail }) {
  const { t } = useTranslation();
  const { usage } = node;
  const missing = useServerMessage()(missingOf(node));
  return (
    <div className={shared.top} data-testid="node-top">
      {node.state === 'DEAD' && (
        <p data-testid="node-death">
          <NodeEnd node={node} />
          {node.death_message !== null && (
            <span className={`${shared.dead} ${words.breaks}`}> {node.death_message}</span>
          )}
        </p>
      )}
      {node.state === 'DEAD' && node.end_known_by !== 'session' && (
        <DeathCause kind="node" id={node.node_id} />
      )}
      {usage === null ? (
        <p className={words.dim}>{missing.line}</p>
      ) : (
        <>
          {!usage.current && (
            <p className={words.dim} title={t('nodes.lastKnownHint')}>
              {usage.usage_ns === null
                ? t('nodes.notMeasured')
                : t('nodes.lastKnown', { time: time(usage.usage_ns) })}
            </p>
          )}
          <Figures node={node} />
        </>
      )}
      <NodeAlerts id={node.node_id} />
    </div>
  );
}

/** Firing and pending alerts about the node. */
function NodeAlerts({ id }: { id: string }) {
  const [url] = useSessionUrl();
  const annotations = useAnnotations();
  const items = useTopic<AlertsTopic>('alerts', { session: url.session })?.items ?? [];
  const mine = items.filter(({ labels }) => labels.node_id === id);
  if (mine.length === 0) return null;
  return (
    <ul data-testid="node-alerts">
      {mine.map((alert) => (
        <PanelLine
          key={alert.fingerprint}
          tone={alertTone(alert)}
          ns={alert.fired_ns || alert.active_ns}
          to={toView(url, 'alerts', { q: alert.rule })}
          name={alert.rule}
          text={annotations(alert.annotations).summary ?? ''}
        />
      ))}
    </ul>
  );
}
