import { Loader } from '@mantine/core';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError, isMissing } from '../api/client';
import { useSummary } from '../api/queries';
import { type AlertsTopic, type ClusterTopic, useTopic } from '../api/realtime';
import type { PausedTasks, Summary } from '../api/schema';
import { isFlow } from '../base/url';
import { ErrorPanel } from '../ui/ErrorPanel';
import { Link } from '../ui/Link';
import { PageBoundary } from '../ui/PageBoundary';
import { useSession, useSessionTexts } from '../ui/session';
import layout from '../ui/theme/layout.module.css';
import { useSessionUrl } from '../ui/useUrl';
import { Banners } from './Banners';
import { Nav } from './Nav';
import { PageHead } from './PageHead';
import { PausedBanner } from './PausedBanner';
import { type Topics, usePages } from './pages';
import css from './SessionPage.module.css';
import { SlowAnswer } from './SlowAnswer';
import { SummaryStrip } from './SummaryStrip';
import { useTitle } from './useTitle';

export default function SessionPage() {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const summary = useSummary(url.session);
  const topics = useTopics(url.session);
  const counted = useLiveCounts(summary.data, topics.cluster);
  const session = useSession(url.session);
  const { name } = useSessionTexts();
  useTitle(t(`nav.${url.view}`), session === undefined ? url.session : name(session));

  const { view } = url;
  const missing = isMissing(summary.error);
  const { views, TaskDrawer } = usePages();
  const Page = views[view];
  return (
    <div className={css.body}>
      <Nav url={url} topics={topics} />
      <main className={`${layout.main} ${css.page}`} id="main" tabIndex={-1}>
        <PageHead url={url} topics={topics} />
        {summary.data && <Banners summary={summary.data} />}
        {isFlow(view) && <PausedBanner />}
        {summary.error !== null && summary.data === undefined ? (
          <ErrorPanel
            error={summary.error}
            title={summary.error instanceof ApiError ? t('error.session') : undefined}
            {...(missing && {
              title: t('error.noSession'),
              remedy: (
                <>
                  {t('error.noSessionRemedy')}{' '}
                  <Link to={{ page: 'sessions', filters: {}, lang: url.lang }}>{t('app.toSessions')}</Link>
                </>
              ),
            })}
            onRetry={() => void summary.refetch()}
          />
        ) : (
          <>
            {view === 'tasks' && <SummaryStrip summary={counted} />}
            <PageBoundary key={view} loading={<Loader size="sm" m="md" />}>
              <Page summary={counted} />
            </PageBoundary>
            <SlowAnswer attempts={summary.data?.attempts} />
          </>
        )}
      </main>
      {url.task !== undefined && (
        <PageBoundary key={url.task}>
          <TaskDrawer taskId={url.task} />
        </PageBoundary>
      )}
    </div>
  );
}

function useTopics(session: string): Topics {
  const cluster = useTopic<ClusterTopic>('cluster', { session });
  const alerts = useTopic<AlertsTopic>('alerts', { session });
  const paused = useTopic<PausedTasks>('debugger', { session });
  return { cluster, alerts, paused };
}

/** The summary with its counts of attempts replaced by the latest ones that the server has pushed. */
function useLiveCounts(summary: Summary | undefined, cluster: ClusterTopic | undefined): Summary | undefined {
  return useMemo(() => {
    if (summary === undefined || cluster === undefined) return summary;
    const { attempts, states, stopped_by_libraries } = cluster;
    return { ...summary, attempts, states, stopped_by_libraries };
  }, [summary, cluster]);
}
