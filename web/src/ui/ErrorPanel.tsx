import { Alert, Button, Group, Text } from '@mantine/core';
import { IconAlertTriangle, IconPlugConnectedX } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../api/client';
import css from './ErrorPanel.module.css';
import { Prose } from './Prose';
import words from './theme/words.module.css';
import { useServerMessage } from './useServerMessage';

/** An error and its remedy, as sent by the server. */
export function ErrorPanel(props: {
  error: Error;
  title?: string;
  /** Message of an error that no request caused. */
  message?: string;
  /** A remedy more specific than the server's. */
  remedy?: ReactNode;
  onRetry?: () => void;
}) {
  const { t } = useTranslation();
  const translate = useServerMessage();
  const apiError = props.error instanceof ApiError ? props.error : null;
  const text =
    apiError === null
      ? { message: t('error.network'), remedy: t('error.networkRemedy') }
      : translate(apiError);
  const remedy = props.remedy ?? text.remedy;
  const isLeftOut = apiError?.code === 'not_in_report';
  return (
    <Alert
      className={css.error}
      data-testid="error-panel"
      color={isLeftOut ? 'gray' : 'red'}
      variant="light"
      m="md"
      icon={apiError ? <IconAlertTriangle size={18} /> : <IconPlugConnectedX size={18} />}
      title={isLeftOut ? t('report.missing') : (props.title ?? t('error.title'))}
    >
      <Text size="sm" className={words.breaks} title={apiError?.message}>
        {props.message ?? text.message}
      </Text>
      {remedy && (
        <Text size="sm" mt={6} className={words.breaks}>
          <b>{t('common.remedy')}:</b> <Prose text={remedy} />
        </Text>
      )}
      {props.onRetry && !isLeftOut && (
        <Group mt="sm">
          <Button size="compact-sm" variant="default" onClick={props.onRetry}>
            {t('common.retry')}
          </Button>
        </Group>
      )}
    </Alert>
  );
}
