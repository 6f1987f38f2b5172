import { IconAlertTriangle, IconCircleCheck, IconClock, IconInfoCircle } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { useFailures, useSessions } from '../../api/queries';
import { type ClusterTopic, useTopic } from '../../api/realtime';
import type { SessionItem, Summary } from '../../api/schema';
import { useClusterStatus } from '../../api/useClusterStatus';
import { count } from '../../base/format';
import { failedOf } from '../../base/progress';
import { NO_FILTERS, type SessionUrl, toView, type Url, withSettings } from '../../base/url';
import { ChartGroup } from '../../ui/charts/ChartGroup';
import { valueText } from '../../ui/charts/units';
import { AnswerPanel } from '../../ui/insights/AnswerPanel';
import { Link } from '../../ui/Link';
import { FailuresPanel } from '../../ui/panels/FailuresPanel';
import { durationText } from '../../ui/session';
import layout from '../../ui/theme/layout.module.css';
import { usePunctuation } from '../../ui/usePunctuation';
import { useReasonText } from '../../ui/useReasonText';
import { useSessionUrl } from '../../ui/useUrl';
import { AlertsPanel, isFiring } from './AlertsPanel';
import { CrashesPanel, useCrashVerdict } from './CrashesPanel';
import { EventsPanel } from './EventsPanel';
import { atLeast, failedWithin, type HealthKey, healthOf, isLost } from './health';
import { JobsPanel } from './JobsPanel';
import { LibrariesPanel } from './LibrariesPanel';
import css from './OverviewPage.module.css';
import { PendingPanel } from './PendingPanel';
import { RunTimeline } from './RunTimeline';
import { UseCharts } from './UseCharts';
import { useAlerts, useDeadNodes, useFailedJobs, usePeaks, useRunningJob } from './useOverview';

/** Failures count as recent if they happened within this time before the latest record, ns. */
const RECENT_NS = 300e9;
/** A session at a glance: its health, usage, jobs, failures, and links to details. */
export default function OverviewPage({ summary }: { summary?: Summary }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const session = useSessions(({ items }) => items.find((item) => item.session === url.session)).data;
  const live = session?.state === 'live';
  const running = useRunningJob(url.session, live);
  return (
    <div className={layout.scrollPage} data-testid="overview" data-live={live || undefined}>
      {session !== undefined && <HealthLine summary={summary} session={session} live={live} />}
      <RunTimeline />
      <div className={css.panels}>
        {session !== undefined && (!live || !running.isPending) && <AnswerPanel job={running.data} />}
        <JobsPanel live={live} />
        <LibrariesPanel />
        <FailuresPanel />
        <CrashesPanel live={live} />
        <PendingPanel live={live} />
      </div>
      {session !== undefined && !live && <Peaks first={session.first_ns} last={session.last_ns} />}
      <ChartGroup sticky beside={<h2 className={css.title}>{t('overview.use')}</h2>}>
        <UseCharts />
      </ChartGroup>
      <div className={css.panels}>
        <AlertsPanel live={live} />
        <EventsPanel live={live} />
      </div>
    </div>
  );
}

const ICONS = {
  good: IconCircleCheck,
  bad: IconAlertTriangle,
  waiting: IconClock,
  quiet: IconInfoCircle,
  busy: IconInfoCircle,
};

/** A link to the details of what the health sentence says. */
function linkOf(key: HealthKey, url: SessionUrl): Url | null {
  switch (key) {
    case 'critical':
    case 'firing':
      return toView(url, 'alerts');
    case 'nodesLost':
    case 'noNodes':
      return toView(url, 'nodes', { state: 'DEAD' });
    case 'never':
    case 'pending':
      return withSettings(toView(url, 'nodes'), { mode: 'resources' });
    case 'waiting':
      return toView(url, 'tasks', { state: 'PENDING_NODE_ASSIGNMENT' });
    case 'failing':
    case 'endedFailed':
      return toView(url, 'failures');
    case 'endedFailedJobs':
      return toView(url, 'jobs', { state: 'FAILED' });
    case 'running':
      return toView(url, 'stack');
    default:
      return null;
  }
}

function HealthLine(props: { summary: Summary | undefined; session: SessionItem; live: boolean }) {
  const { summary, live } = props;
  const { t, i18n } = useTranslation();
  const reasonText = useReasonText();
  const [url] = useSessionUrl();
  const cluster = useTopic<ClusterTopic>('cluster', { session: url.session });
  const dead = useDeadNodes(url.session, cluster?.nodes.dead ?? 0).data?.items ?? [];
  const status = useClusterStatus(url.session, live).data;
  const alerts = (useAlerts(url.session) ?? []).filter(isFiring);
  const failedJobs = useFailedJobs(url.session, live).data;
  const outcomes = useFailures(url.session, NO_FILTERS).data?.tasks;
  const crashed = useCrashVerdict(live);
  const { gap } = usePunctuation();
  if (summary === undefined || cluster === undefined || outcomes === undefined)
    return <div className={css.health} data-tone="quiet" aria-hidden />;
  const pending = status?.pending ?? [];
  const sum = (list: typeof pending) => list.reduce((all, one) => all + one.count, 0);
  const names = (critical: boolean) => [
    ...new Set(
      alerts.filter((one) => (one.labels.severity === 'critical') === critical).map((one) => one.rule),
    ),
  ];
  const failed = failedOf(summary.states, summary.stopped_by_libraries);
  const failedLately = failedWithin(summary.failures, summary.last_ns, RECENT_NS);
  const health = healthOf({
    live,
    states: { ...summary.states, FAILED: failed },
    critical: names(true),
    firing: names(false),
    nodesAlive: cluster.nodes.alive,
    nodesLost: dead.filter((node) => isLost(node.death_reason) && node.end_known_by === null).length,
    never: sum(pending.filter((one) => one.reason.never)),
    pending: sum(pending),
    failedLately,
    jobsFailed: failedJobs?.total ?? 0,
    final: outcomes.final,
    recovered: outcomes.recovered,
    recordingFails: summary.ingest?.error != null,
  });
  const Icon = ICONS[health.tone];
  const target = linkOf(health.key, url);
  const values = {
    ...Object.fromEntries(Object.entries(health.numbers).map(([name, value]) => [name, count(value)])),
    lately: atLeast(failedLately, summary.failures.length, failed),
    names: health.names.slice(0, 3).join(i18n.language === 'zh' ? '、' : ', '),
    lasted: durationText(props.session),
  };
  const texts = [
    t(`overview.health.${health.key}`, values),
    ...health.also.map((part) => t(`overview.health.also.${part}`, values)),
  ];
  const never = pending.find((one) => one.reason.never);
  const why = health.key === 'never' && never !== undefined ? reasonText(never.reason) : undefined;
  return (
    <div
      className={css.health}
      data-tone={health.tone}
      data-testid="health"
      data-key={health.key}
      role="status"
    >
      <Icon size={20} aria-hidden />
      <span>
        <b>{texts.join(gap)}</b>
        {gap}
        {[why, crashed].filter(Boolean).join(gap)}
      </span>
      {target !== null && (
        <Link to={target} testId="health-link">
          {t('overview.look')}
        </Link>
      )}
    </div>
  );
}

/** Peak usage of an ended session. */
function Peaks({ first, last }: { first: number | null; last: number | null }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const peaks = usePeaks(url.session, first === null ? null : first / 1e6, last === null ? null : last / 1e6);
  const { cpu = null, memory = null, store = null } = peaks.data ?? {};
  if (cpu === null && memory === null && store === null) return null;
  return (
    <p className={css.peaks} data-testid="peaks">
      {t('overview.peaks', {
        cpu: valueText(cpu, 'percent'),
        memory: valueText(memory, 'bytes'),
        store: valueText(store, 'bytes'),
      })}
    </p>
  );
}
