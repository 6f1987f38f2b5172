import { useTranslation } from 'react-i18next';
import type { AlertsAnswer } from '../../api/schema';
import { count } from '../../base/format';
import css from './AlertsPage.module.css';

/** How many alerts fire and are pending or, once the session has ended, how many fired at its end. */
export function AlertsTitle({ alerts }: { alerts: AlertsAnswer | undefined }) {
  const { t } = useTranslation();
  return (
    <h2 className={css.title} data-testid="alerts-count">
      {alerts === undefined && t('alerts.loading')}
      {alerts?.live && t('alerts.title', { firing: count(alerts.firing), pending: count(alerts.pending) })}
      {alerts?.live === false && t('alerts.titleEnded', { n: count(alerts.ended) })}
    </h2>
  );
}
