import { IconPlugConnectedX } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { clockTime } from '../base/format';
import { Prose } from '../ui/Prose';
import css from './ServerNotice.module.css';
import { useServerState } from './useServerState';

/** A notice on every page that the server does not answer. It says since when the data is out of date. */
export function ServerNotice() {
  const { t } = useTranslation();
  const { state, lastAnswer } = useServerState();
  if (state === 'connecting' || state === 'connected') return null;
  return (
    <div className={css.notice} role="alert" data-testid="server-notice">
      <IconPlugConnectedX size={16} aria-hidden />
      <span>
        {lastAnswer === null
          ? t('connection.never')
          : t('connection.since', { time: clockTime(lastAnswer * 1e6) })}{' '}
        <Prose text={t('error.networkRemedy')} />
      </span>
    </div>
  );
}
