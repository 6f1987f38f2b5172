import { localStorageColorSchemeManager, MantineProvider } from '@mantine/core';
import { IconMapQuestion } from '@tabler/icons-react';
import { QueryClientProvider } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useConnection } from '../api/connection';
import { OperatorProvider } from '../api/operator';
import { queryClient } from '../api/queries';
import { Empty } from '../components/small';
import { LoginPage } from '../pages/LoginPage';
import { SessionPage } from '../pages/SessionPage';
import { SessionsPage } from '../pages/SessionsPage';
import { cssVariablesResolver, theme } from '../theme/theme';
import { Header } from './Header';
import { Link } from './Link';
import { ServerNotice } from './ServerNotice';
import { useTitle } from './useTitle';
import { useUrl } from './useUrl';

/** The key that first-paint.js reads too. */
const colorSchemeManager = localStorageColorSchemeManager({ key: 'rayscope.theme' });

export function App() {
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariablesResolver}
      colorSchemeManager={colorSchemeManager}
      defaultColorScheme="auto"
    >
      <QueryClientProvider client={queryClient}>
        <OperatorProvider>
          <Shell />
        </OperatorProvider>
      </QueryClientProvider>
    </MantineProvider>
  );
}

function Shell() {
  const url = useUrl();
  const { t } = useTranslation();
  const { needsLogin } = useConnection();
  if (needsLogin) return <LoginPage />;
  return (
    <div className="rs-shell">
      <a className="rs-skip" href="#main">
        {t('app.skip')}
      </a>
      <Header />
      <ServerNotice />
      {url.page === 'sessions' && <SessionsPage />}
      {url.page === 'session' && <SessionPage key={url.session} />}
      {url.page === 'unknown' && <UnknownPage lang={url.lang} />}
    </div>
  );
}

function UnknownPage({ lang }: { lang?: string }) {
  const { t } = useTranslation();
  useTitle(t('app.notFound'));
  return (
    <main className="rs-main" id="main" tabIndex={-1}>
      <Empty icon={<IconMapQuestion size={28} />} title={t('app.notFound')}>
        <Link to={{ page: 'sessions', lang }}>{t('app.toSessions')}</Link>
      </Empty>
    </main>
  );
}
