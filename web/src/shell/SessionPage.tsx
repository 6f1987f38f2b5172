import { Loader, ScrollArea, Tooltip } from '@mantine/core';
import { Suspense, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError, isMissing } from '../api/client';
import { useSummary } from '../api/queries';
import { type AlertsTopic, type ClusterTopic, useTopic } from '../api/realtime';
import type { PausedTasks, Summary } from '../api/schema';
import { count } from '../base/format';
import { REPORT } from '../base/report';
import { groupOf, isFlow, isLibrary, toFlow, toView, VIEWS, type View } from '../base/url';
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
import { PausedBanner } from './PausedBanner';
import { usePages } from './pages';
import css from './SessionPage.module.css';
import { SlowAnswer } from './SlowAnswer';
import { SummaryStrip } from './SummaryStrip';
import shared from './shell.module.css';
import { useTitle } from './useTitle';

export function SessionPage() {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const summary = useSummary(url.session);
  const counted = useLiveCounts(summary.data);
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
        {/* The main heading, for screen readers. A page may also show a heading of its own. */}
        <h1 className={words.hidden}>{t(`nav.${view}`)}</h1>
        <PageIntro key={view} view={view} />
        {summary.data && <Banners summary={summary.data} />}
        {groupOf(view) === 'execution' && <PausedBanner />}
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
            {view === 'tasks' && <SummaryStrip summary={counted} />}
            <PageBoundary key={view}>
              <Suspense fallback={<Loader size="sm" m="md" />}>
                <Page summary={counted} />
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

/** The summary with its counts of attempts replaced by the latest ones that the server has pushed. */
function useLiveCounts(summary: Summary | undefined): Summary | undefined {
  const [url] = useSessionUrl();
  const cluster = useTopic<ClusterTopic>('cluster', { session: url.session });
  return useMemo(() => {
    if (summary === undefined || cluster === undefined) return summary;
    const { attempts, states, stopped_by_libraries } = cluster;
    return { ...summary, attempts, states, stopped_by_libraries };
  }, [summary, cluster]);
}

function Nav() {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const { links, prefetch } = usePages();
  const cluster = useTopic<ClusterTopic>('cluster', { session: url.session });
  const alerts = useTopic<AlertsTopic>('alerts', { session: url.session });
  const paused = useTopic<PausedTasks>('debugger', { session: url.session });
  const topics = { cluster, alerts, paused };
  const libraries = cluster?.libraries ?? {};
  const isShown = (view: View) =>
    (!isLibrary(view) || view in libraries || view === url.view) &&
    (REPORT === null || REPORT.views.includes(view));
  return (
    <nav className={css.nav} aria-label={t('nav.label')}>
      <ScrollArea type="never" h="100%">
        {(['work', 'execution', 'libraries', 'cluster'] as const)
          .map((group) => ({
            group,
            entries: VIEWS.filter((view) => groupOf(view) === group && isShown(view)),
          }))
          .filter(({ entries }) => entries.length > 0)
          .map(({ group, entries }) => (
            <div key={group} className={shared.navGroup}>
              <div className={css.navTitle}>{t(`nav.${group}`)}</div>
              {entries.map((view) => {
                const { icon: Icon, number: numberOf, tone } = links[view];
                const number = numberOf?.(topics);
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
                        {number !== undefined && (
                          <span
                            className={`${css.navNumber} ${words.num}`}
                            data-tone={number === 0 ? undefined : tone?.(topics)}
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
        {REPORT === null && <ExportMenu />}
      </ScrollArea>
    </nav>
  );
}
