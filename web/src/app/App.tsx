import { Anchor, localStorageColorSchemeManager, MantineProvider } from '@mantine/core';
import { IconMapQuestion } from '@tabler/icons-react';
import { QueryClientProvider } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useConnection } from '../api/connection';
import { queryClient } from '../api/queries';
import { Empty } from '../components/small';
import { LoginPage } from '../pages/LoginPage';
import { SessionPage } from '../pages/SessionPage';
import { SessionsPage } from '../pages/SessionsPage';
import { cssVariablesResolver, theme } from '../theme/theme';
import { Header } from './Header';
import { go, useUrl } from './useUrl';

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
        <Shell />
      </QueryClientProvider>
    </MantineProvider>
  );
}

function Shell() {
  const url = useUrl();
  const { needsLogin } = useConnection();
  const { t } = useTranslation();
  if (needsLogin) return <LoginPage />;
  return (
    <div className="rs-shell">
      <Header />
      {url.page === 'sessions' && <SessionsPage />}
      {url.page === 'session' && <SessionPage key={url.session} />}
      {url.page === 'unknown' && (
        <main className="rs-main">
          <Empty icon={<IconMapQuestion size={28} />} title={t('app.notFound')}>
            <Anchor component="button" size="sm" onClick={() => go({ page: 'sessions', lang: url.lang })}>
              {t('app.toSessions')}
            </Anchor>
          </Empty>
        </main>
      )}
    </div>
  );
}
