import { ScrollArea, Tooltip } from '@mantine/core';
import {
  IconAlertOctagon,
  IconBriefcase,
  IconChartBar,
  IconCpu,
  IconFlame,
  IconFunction,
  IconListDetails,
  IconMap2,
  IconPuzzle,
  IconServer2,
  IconSitemap,
  IconStack2,
  IconUser,
} from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../api/client';
import { useCluster, useSummary, useTotal } from '../api/queries';
import { Link } from '../app/Link';
import { isFlow, toFlow, toView, type View } from '../app/url';
import { useTitle } from '../app/useTitle';
import { useSessionUrl } from '../app/useUrl';
import { Banners } from '../components/Banners';
import { ErrorPanel } from '../components/small';
import { FlameView } from '../flow/FlameView';
import { GanttView } from '../flow/GanttView';
import { LogicalView } from '../flow/LogicalView';
import { PhysicalView } from '../flow/PhysicalView';
import { StackView } from '../flow/StackView';
import { count } from '../lib/format';
import { EntityView } from './EntityView';
import { ExportMenu } from './ExportMenu';
import { FunctionsView } from './FunctionsView';
import { SummaryStrip } from './SummaryStrip';
import { TaskDrawer } from './TaskDrawer';
import { FailuresView, TasksView } from './TasksView';

const NAV: { group: 'work' | 'execution' | 'cluster'; view: View; icon: typeof IconCpu }[] = [
  { group: 'work', view: 'tasks', icon: IconListDetails },
  { group: 'work', view: 'functions', icon: IconFunction },
  { group: 'work', view: 'failures', icon: IconAlertOctagon },
  { group: 'execution', view: 'logical', icon: IconSitemap },
  { group: 'execution', view: 'physical', icon: IconMap2 },
  { group: 'execution', view: 'gantt', icon: IconChartBar },
  { group: 'execution', view: 'flame', icon: IconFlame },
  { group: 'execution', view: 'stack', icon: IconStack2 },
  { group: 'cluster', view: 'actors', icon: IconUser },
  { group: 'cluster', view: 'workers', icon: IconCpu },
  { group: 'cluster', view: 'nodes', icon: IconServer2 },
  { group: 'cluster', view: 'jobs', icon: IconBriefcase },
  { group: 'cluster', view: 'placement-groups', icon: IconPuzzle },
];

export function SessionPage() {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const summary = useSummary(url.session);
  useTitle(t(`nav.${url.view}`), url.session);

  const { view } = url;
  const missing = summary.error instanceof ApiError && summary.error.status === 404;
  const work = view === 'tasks' || view === 'functions' || view === 'failures';
  return (
    <div className="rs-body">
      <Nav />
      <main className="rs-main rs-session-page">
        {summary.data && <Banners summary={summary.data} />}
        {summary.error !== null && summary.data === undefined ? (
          <ErrorPanel
            error={summary.error}
            title={summary.error instanceof ApiError ? t('error.session') : undefined}
            {...(missing && {
              title: t('error.noSession'),
              remedy: (
                <>
                  {t('error.noSessionRemedy')}{' '}
                  <Link to={{ page: 'sessions', lang: url.lang }}>{t('app.toSessions')}</Link>
                </>
              ),
            })}
            onRetry={() => void summary.refetch()}
          />
        ) : (
          <>
            {work && <SummaryStrip summary={summary.data} />}
            {url.view === 'tasks' && <TasksView summary={summary.data} />}
            {url.view === 'functions' && <FunctionsView summary={summary.data} />}
            {url.view === 'failures' && <FailuresView summary={summary.data} />}
            {url.view === 'logical' && <LogicalView summary={summary.data} />}
            {url.view === 'physical' && <PhysicalView summary={summary.data} />}
            {url.view === 'gantt' && <GanttView summary={summary.data} />}
            {url.view === 'flame' && <FlameView summary={summary.data} />}
            {url.view === 'stack' && <StackView summary={summary.data} />}
            {!work && !isFlow(view) && <EntityView key={view} view={view} />}
          </>
        )}
      </main>
      {url.task !== undefined && <TaskDrawer taskId={url.task} />}
    </div>
  );
}

function Nav() {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const summary = useSummary(url.session);
  const cluster = useCluster(url.session);
  const workers = useTotal(url.session, '/workers');
  const sum = (counts: object | undefined) =>
    counts === undefined
      ? null
      : Object.values(counts).reduce((all: number, number) => all + Number(number), 0);
  const numbers: Partial<Record<View, number | null>> = {
    tasks: summary.data?.attempts ?? null,
    failures: summary.data === undefined ? null : (summary.data.states.FAILED ?? 0),
    actors: sum(cluster.data?.actors),
    workers: workers.data?.total ?? null,
    nodes: sum(cluster.data?.nodes),
    jobs: sum(cluster.data?.jobs),
    'placement-groups': sum(cluster.data?.placement_groups),
  };
  return (
    <nav className="rs-nav" aria-label={t('nav.label')}>
      <ScrollArea type="never" h="100%">
        {(['work', 'execution', 'cluster'] as const).map((group) => (
          <div key={group} className="rs-nav-group">
            <div className="rs-nav-title">{t(`nav.${group}`)}</div>
            {NAV.filter((entry) => entry.group === group).map(({ view, icon: Icon }) => {
              const number = numbers[view];
              return (
                <Tooltip key={view} label={t(`nav.${view}`)} position="right" hiddenFrom="md">
                  <div>
                    <Link
                      to={isFlow(view) && isFlow(url.view) ? toFlow(url, view) : toView(url, view)}
                      className="rs-nav-link"
                      current={url.view === view}
                      testId={`nav-${view}`}
                      label={t(`nav.${view}`)}
                    >
                      <Icon size={17} stroke={1.7} aria-hidden />
                      <span className="rs-nav-text rs-ellipsis">{t(`nav.${view}`)}</span>
                      {number !== null && number !== undefined && (
                        <span
                          className="rs-nav-number rs-num"
                          data-bad={(view === 'failures' && number > 0) || undefined}
                        >
                          {count(number)}
                        </span>
                      )}
                    </Link>
                  </div>
                </Tooltip>
              );
            })}
          </div>
        ))}
        <ExportMenu />
      </ScrollArea>
    </nav>
  );
}
