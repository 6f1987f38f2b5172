import { Loader, ScrollArea, Tooltip } from '@mantine/core';
import {
  IconActivity,
  IconAdjustmentsHorizontal,
  IconAlertOctagon,
  IconBell,
  IconBriefcase,
  IconChartBar,
  IconCloudComputing,
  IconCpu,
  IconDatabase,
  IconFileText,
  IconFlame,
  IconFunction,
  IconGauge,
  IconHistory,
  IconListDetails,
  IconMap2,
  IconPuzzle,
  IconSchool,
  IconServer2,
  IconSitemap,
  IconSql,
  IconStack2,
  IconStethoscope,
  IconTableRow,
  IconUser,
} from '@tabler/icons-react';
import { Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError, isMissing } from '../api/client';
import { useSummary } from '../api/queries';
import { type AlertsTopic, type ClusterTopic, useTopic } from '../api/realtime';
import { count } from '../base/format';
import { failedOf } from '../base/progress';
import { isFlow, isLibrary, LIBRARY_VIEWS, toFlow, toView, type View } from '../base/url';
import { worstTone } from '../ui/alerts/severity';
import { ErrorPanel } from '../ui/ErrorPanel';
import { Link } from '../ui/Link';
import { PageBoundary } from '../ui/PageBoundary';
import { useSession, useSessionTexts } from '../ui/session';
import layout from '../ui/theme/layout.module.css';
import words from '../ui/theme/words.module.css';
import { useSessionUrl } from '../ui/useUrl';
import { Banners } from './Banners';
import { ExportMenu } from './ExportMenu';
import { PageIntro } from './intro/PageIntro';
import { usePages } from './pages';
import css from './SessionPage.module.css';
import { SlowAnswer } from './SlowAnswer';
import { SummaryStrip } from './SummaryStrip';
import shared from './shell.module.css';
import { useTitle } from './useTitle';

const NAV: { group: 'work' | 'execution' | 'libraries' | 'cluster'; view: View; icon: typeof IconCpu }[] = [
  { group: 'work', view: 'overview', icon: IconGauge },
  { group: 'work', view: 'insights', icon: IconStethoscope },
  { group: 'work', view: 'tasks', icon: IconListDetails },
  { group: 'work', view: 'functions', icon: IconFunction },
  { group: 'work', view: 'failures', icon: IconAlertOctagon },
  { group: 'execution', view: 'logical', icon: IconSitemap },
  { group: 'execution', view: 'physical', icon: IconMap2 },
  { group: 'execution', view: 'gantt', icon: IconChartBar },
  { group: 'execution', view: 'flame', icon: IconFlame },
  { group: 'execution', view: 'stack', icon: IconStack2 },
  { group: 'libraries', view: 'data', icon: IconTableRow },
  { group: 'libraries', view: 'serve', icon: IconCloudComputing },
  { group: 'libraries', view: 'train', icon: IconSchool },
  { group: 'libraries', view: 'tune', icon: IconAdjustmentsHorizontal },
  { group: 'cluster', view: 'actors', icon: IconUser },
  { group: 'cluster', view: 'workers', icon: IconCpu },
  { group: 'cluster', view: 'nodes', icon: IconServer2 },
  { group: 'cluster', view: 'jobs', icon: IconBriefcase },
  { group: 'cluster', view: 'placement-groups', icon: IconPuzzle },
  { group: 'cluster', view: 'memory', icon: IconDatabase },
  { group: 'cluster', view: 'events', icon: IconHistory },
  { group: 'cluster', view: 'logs', icon: IconFileText },
  { group: 'cluster', view: 'metrics', icon: IconActivity },
  { group: 'cluster', view: 'alerts', icon: IconBell },
  { group: 'cluster', view: 'sql', icon: IconSql },
];

export function SessionPage() {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const summary = useSummary(url.session);
  const session = useSession(url.session);
  const { name } = useSessionTexts();
  useTitle(t(`nav.${url.view}`), session === undefined ? url.session : name(session));

  const { view } = url;
  const missing = isMissing(summary.error);
  const { views, TaskDrawer } = usePages();
  const Page = views[view];
  return (
    <div className={css.body}>
      <Nav />
      <main className={`${layout.main} ${css.page}`} id="main" tabIndex={-1}>
        {/* The page's main heading. Headings that some pages show themselves are visual only. */}
        <h1 className={words.hidden}>{t(`nav.${view}`)}</h1>
        <PageIntro key={view} view={view} />
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
            {view === 'tasks' && <SummaryStrip summary={summary.data} />}
            <PageBoundary key={view}>
              <Suspense fallback={<Loader size="sm" m="md" />}>
                <Page summary={summary.data} />
              </Suspense>
            </PageBoundary>
            <SlowAnswer attempts={summary.data?.attempts} />
          </>
        )}
      </main>
      {url.task !== undefined && (
        <PageBoundary key={url.task}>
          <Suspense>
            <TaskDrawer taskId={url.task} />
          </Suspense>
        </PageBoundary>
      )}
    </div>
  );
}

function Nav() {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const { prefetch } = usePages();
  const cluster = useTopic<ClusterTopic>('cluster', { session: url.session });
  const alerts = useTopic<AlertsTopic>('alerts', { session: url.session });
  const libraries = cluster?.libraries ?? {};
  const isShown = (view: View) => !isLibrary(view) || view in libraries || view === url.view;
  const tones: Partial<Record<View, string>> = { failures: 'bad', alerts: worstTone(alerts?.items ?? []) };
  const sum = (counts: object | undefined) =>
    counts === undefined
      ? null
      : Object.values(counts).reduce((all: number, number) => all + Number(number), 0);
  const numbers: Partial<Record<View, number | null>> = {
    tasks: cluster?.attempts ?? null,
    failures: cluster === undefined ? null : failedOf(cluster.states, cluster.stopped_by_libraries),
    actors: sum(cluster?.actors),
    workers: sum(cluster?.workers),
    nodes: sum(cluster?.nodes),
    jobs: sum(cluster?.jobs),
    'placement-groups': sum(cluster?.placement_groups),
    alerts: alerts === undefined ? null : alerts.firing - alerts.info || null,
    ...Object.fromEntries(LIBRARY_VIEWS.map((view) => [view, sum(libraries[view])])),
  };
  return (
    <nav className={css.nav} aria-label={t('nav.label')}>
      <ScrollArea type="never" h="100%">
        {(['work', 'execution', 'libraries', 'cluster'] as const)
          .map((group) => ({ group, entries: NAV.filter((one) => one.group === group && isShown(one.view)) }))
          .filter(({ entries }) => entries.length > 0)
          .map(({ group, entries }) => (
            <div key={group} className={shared.navGroup}>
              <div className={css.navTitle}>{t(`nav.${group}`)}</div>
              {entries.map(({ view, icon: Icon }) => {
                const number = numbers[view];
                return (
                  <Tooltip key={view} label={t(`nav.${view}`)} position="right" hiddenFrom="md">
                    {/* Prefetches a hovered page, which is likely to be opened next. */}
                    <div onPointerEnter={() => prefetch(view)}>
                      <Link
                        to={isFlow(view) && isFlow(url.view) ? toFlow(url, view) : toView(url, view)}
                        className={shared.navLink}
                        current={url.view === view}
                        testId={`nav-${view}`}
                      >
                        <Icon size={17} stroke={1.7} aria-hidden />
                        <span className={`${shared.navText} ${words.ellipsis} ${words.hiddenNarrow}`}>
                          {t(`nav.${view}`)}
                        </span>
                        {number !== null && number !== undefined && (
                          <span
                            className={`${css.navNumber} ${words.num}`}
                            data-tone={number === 0 ? undefined : tones[view]}
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
