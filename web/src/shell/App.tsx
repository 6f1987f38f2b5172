import { Loader, localStorageColorSchemeManager, MantineProvider } from '@mantine/core';
import { IconMapQuestion } from '@tabler/icons-react';
import { QueryClientProvider } from '@tanstack/react-query';
import { lazy } from 'react';
import { useTranslation } from 'react-i18next';
import { useConnection } from '../api/connection';
import { queryClient } from '../api/queries';
import { showTimesIn, type Zone } from '../base/format';
import { REPORT } from '../base/report';
import { EmptyState } from '../ui/EmptyState';
import { Link } from '../ui/Link';
import { OperatorProvider } from '../ui/operator';
import { PageBoundary } from '../ui/PageBoundary';
import layout from '../ui/theme/layout.module.css';
import { cssVariablesResolver, theme } from '../ui/theme/theme';
import words from '../ui/theme/words.module.css';
import { useStored } from '../ui/useStored';
import { useUrl } from '../ui/useUrl';
import css from './App.module.css';
import { Header } from './Header';
import { JobEnds } from './JobEnds';
import { usePages } from './pages';
import { ReportNote } from './ReportNote';
import { ServerNotice } from './ServerNotice';
import shared from './shell.module.css';
import { useTitle } from './useTitle';

const LoginPage = lazy(() => import('./LoginPage'));

/** first-paint.js reads the same key. */
const colorSchemeManager = localStorageColorSchemeManager({ key: 'rayscope.theme' });

export function App() {
  const [zone] = useStored<Zone>('zone', 'browser');
  showTimesIn(zone);
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariablesResolver}
      colorSchemeManager={colorSchemeManager}
      defaultColorScheme="auto"
    >
      <QueryClientProvider client={queryClient}>
        <OperatorProvider>
          <Shell key={zone} />
        </OperatorProvider>
      </QueryClientProvider>
    </MantineProvider>
  );
}

function Shell() {
  const url = useUrl();
  const { t } = useTranslation();
  const needsLogin = useConnection((connection) => connection.needsLogin);
  const { Sessions, Session, Compare, Runs } = usePages();
  if (needsLogin)
    return (
      <PageBoundary>
        <LoginPage />
      </PageBoundary>
    );
  return (
    <div className={shared.shell}>
      {REPORT === null && ( // its address is after the #
        <a className={css.skip} href="#main">
          {t('app.skip')}
        </a>
      )}
      <Header />
      {REPORT === null ? <ServerNotice /> : <ReportNote report={REPORT} />}
      {REPORT === null && <JobEnds />}
      {url.page === 'sessions' && <Sessions />}
      <PageBoundary
        key={url.page === 'session' ? url.session : url.page}
        loading={<Loader size="sm" m="md" />}
      >
        {url.page === 'session' && <Session key={url.session} />}
        {url.page === 'compare' && <Compare />}
        {url.page === 'runs' && <Runs />}
      </PageBoundary>
      {url.page === 'unknown' && <UnknownPage lang={url.lang} />}
    </div>
  );
}

function UnknownPage({ lang }: { lang?: string }) {
  const { t } = useTranslation();
  useTitle(t('app.notFound'));
  return (
    <main className={layout.main} id="main" tabIndex={-1}>
      <h1 className={words.hidden}>{t('app.notFound')}</h1>
      <EmptyState icon={<IconMapQuestion size={28} />} title={t('app.notFound')}>
        <Link to={{ page: 'sessions', filters: {}, lang }}>{t('app.toSessions')}</Link>
      </EmptyState>
    </main>
  );
}
