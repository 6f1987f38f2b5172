import { Tabs } from '@mantine/core';
import { type ReactNode, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { missingOf, type NodeDetail } from '../../api/nodes';
import { bytes, count, time } from '../../base/format';
import { toView, withSettings } from '../../base/url';
import { CopyId } from '../../ui/CopyId';
import { Drawer, Field, Fields, Section } from '../../ui/Drawer';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { ItemState } from '../../ui/ItemState';
import { LaneName } from '../../ui/Lane';
import { Link } from '../../ui/Link';
import { ofText, percentText } from '../../ui/Meter';
import { Time } from '../../ui/Time';
import { useServerMessage } from '../../ui/useServerMessage';
import { useSessionUrl } from '../../ui/useUrl';
import { isEmpty, Value } from '../../ui/Value';
import { AmountTable, Holders } from './ClusterResources';
import { Figures } from './NodeCards';
import { NodeCharts } from './NodeCharts';
import { NodeEvents } from './NodeEvents';
import { NodeGpus } from './NodeGpus';
import css from './NodePanel.module.css';
import { HeadBadge, nodeTitle } from './NodesTable';
import { NodeWorkers } from './NodeWorkers';
import shared from './nodes.module.css';
import { useNodeDetail } from './useNodes';

const TABS = ['workers', 'resources', 'gpus', 'charts', 'events', 'about'] as const;
type Tab = (typeof TABS)[number];

/** One node in full. */
export function NodePanel({ id, onClose }: { id: string; onClose: () => void }) {
  const [url, change] = useSessionUrl();
  const { t } = useTranslation();
  const query = useNodeDetail(url.session, id);
  const { data } = query;
  const tab: Tab = TABS.find((one) => one === url.settings?.tab) ?? 'workers';
  return (
    <Drawer
      testId="item-drawer"
      title={data === undefined ? id.slice(0, 12) : nodeTitle(data)}
      subtitle={
        data !== undefined && (
          <>
            <ItemState state={data.state} />
            <HeadBadge head={data.is_head} />
            {data.is_draining && <span className="rs-badge">{t('nodes.draining')}</span>}
            <CopyId id={data.node_id} />
            <span className="rs-dim">{data.node_ip}</span>
            <Link to={withSettings(toView(url, 'logs'), { node: data.node_id })} className="rs-link">
              {t('nodes.logs')}
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
              change(
                (before) =>
                  withSettings(before, { tab: value === 'workers' ? undefined : (value ?? undefined) }),
                {
                  replace: true,
                },
              )
            }
            keepMounted={false}
            className={css.tabs}
          >
            <Tabs.List>
              {TABS.map((one) => (
                <Tabs.Tab key={one} value={one} data-testid={`node-tab-${one}`}>
                  {t(`nodes.tabs.${one}`)}
                  {one === 'workers' && <span className="rs-num rs-dim"> {count(data.workers_total)}</span>}
                  {one === 'gpus' && data.gpus.length > 0 && (
                    <span className="rs-num rs-dim"> {count(data.gpus.length)}</span>
                  )}
                </Tabs.Tab>
              ))}
            </Tabs.List>
            <Tabs.Panel value="workers">
              <NodeWorkers node={data} />
            </Tabs.Panel>
            <Tabs.Panel value="resources">
              <Resources node={data} />
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
              <About node={data} />
            </Tabs.Panel>
          </Tabs>
        </>
      )}
    </Drawer>
  );
}

/** State, and what it uses. */
function Top({ node }: { node: NodeDetail }) {
  const { t } = useTranslation();
  const { usage } = node;
  const missing = useServerMessage()(missingOf(node));
  return (
    <div className={shared.top} data-testid="node-top">
      {node.state === 'DEAD' && (
        <p className={shared.dead} data-testid="node-death">
          {t('nodes.died', { time: time(node.end_ns), reason: node.death_reason ?? t('nodes.noReason') })}
          {node.death_message !== null && <span className="rs-break"> {node.death_message}</span>}
        </p>
      )}
      {usage === null ? (
        <p className="rs-dim">
          {missing.message} {missing.remedy}
        </p>
      ) : (
        <>
          {!usage.current && (
            <p className="rs-dim" title={t('nodes.lastKnownHint')}>
              {usage.usage_ns === null
                ? t('nodes.notMeasured')
                : t('nodes.lastKnown', { time: time(usage.usage_ns) })}
            </p>
          )}
          <Figures node={node} />
        </>
      )}
    </div>
  );
}

function Resources({ node }: { node: NodeDetail }) {
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

function About({ node }: { node: NodeDetail }) {
  const [url] = useSessionUrl();
  const { t, i18n } = useTranslation();
  const { measured } = node;
  const name = (field: string) =>
    i18n.exists(`field.${field}`) ? t(`field.${field}` as 'field.state') : field.replaceAll('_', ' ');
  const fields = useMemo<[string, ReactNode][]>(() => {
    const plain = [
      'node_id',
      'node_name',
      'hostname',
      'node_ip',
      'instance_id',
      'instance_type',
      'labels',
      'resources_total',
      'metrics_export_port',
      'dashboard_agent_port',
      'start_ns',
      'end_ns',
      'death_reason',
      'death_message',
    ];
    const record = node as unknown as Record<string, unknown>;
    return plain
      .filter((field) => !isEmpty(record[field]))
      .map((field) => [field, <Value key={field} name={field} value={record[field]} />]);
  }, [node]);
  return (
    <Section
      title={t('entity.fields')}
      right={<Link to={toView(url, 'tasks', { node_id: node.node_id })}>{t('entity.tasksOf')}</Link>}
    >
      <Fields>
        <Field name={name('lane')} hint="lane">
          <LaneName lane={node.lane} code={node.lane_code} reason={node.lane_reason} whole />
        </Field>
        {fields.map(([field, value]) => (
          <Field key={field} name={name(field)} hint={field}>
            {value}
          </Field>
        ))}
        {measured !== null && (
          <>
            {measured.cpus !== null && (
              <Field name={t('nodes.cpu')}>{t('nodes.cores', { n: count(measured.cpus) })}</Field>
            )}
            {measured.load.length > 0 && (
              <Field name={t('nodes.load')}>
                <span className="rs-num">{measured.load.map((one) => one.toFixed(2)).join(' · ')}</span>
              </Field>
            )}
            {measured.boot_ns !== null && (
              <Field name={t('nodes.boot')}>
                <Time ns={measured.boot_ns} full />
              </Field>
            )}
            {measured.shm_bytes !== null && <Field name={t('nodes.shm')}>{bytes(measured.shm_bytes)}</Field>}
            {measured.swap_total_bytes !== null && (
              <Field name={t('nodes.swap')}>
                {ofText(measured.swap_used_bytes, measured.swap_total_bytes)}
              </Field>
            )}
          </>
        )}
      </Fields>
    </Section>
  );
}
