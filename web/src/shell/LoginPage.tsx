import { Button, Paper, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { IconKey } from '@tabler/icons-react';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError, login } from '../api/client';
import { queryClient } from '../api/queries';
import layout from '../ui/theme/layout.module.css';
import { Header } from './Header';
import css from './LoginPage.module.css';
import shared from './shell.module.css';
import { useTitle } from './useTitle';

export default function LoginPage() {
  const { t } = useTranslation();
  useTitle(t('login.title'));
  const [token, setToken] = useState('');
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      await login(token.trim());
      await queryClient.resetQueries();
    } catch (error) {
      const wrong = error instanceof ApiError && error.status === 401;
      setProblem(wrong ? t('login.wrong') : t('login.failed', { message: (error as Error).message }));
    } finally {
      setBusy(false);
    }
  }

  return (
    <div className={shared.shell}>
      <Header />
      <main className={`${layout.main} ${css.login}`}>
        <Paper
          withBorder
          bg="var(--rs-panel)"
          p="xl"
          w={420}
          maw="100%"
          component="form"
          onSubmit={submit}
          data-testid="login"
        >
          <Stack gap="md">
            <Title order={1}>{t('login.title')}</Title>
            <Text size="sm" c="dimmed">
              {t('login.explain')} {t('login.where')}
            </Text>
            <PasswordInput
              label={t('login.token')}
              value={token}
              onChange={(event) => setToken(event.currentTarget.value)}
              error={problem}
              autoFocus
              autoComplete="current-password"
              leftSection={<IconKey size={16} />}
              data-testid="login-token"
            />
            <Button type="submit" loading={busy} disabled={token.trim() === ''} data-testid="login-submit">
              {t('login.submit')}
            </Button>
          </Stack>
        </Paper>
      </main>
    </div>
  );
}
