import { useTranslation } from 'react-i18next';
import type { AlertsAnswer } from '../../api/schema';
import { count } from '../../base/format';
import css from './AlertsPage.module.css';

/**
 * How many alerts fire and are pending or, once the session has ended, how many fired at its end. As in badges,
 * firing ones for information count separately.
 */
export function AlertsTitle({ alerts }: { alerts: AlertsAnswer | undefined }) {
  const { t } = useTranslation();
  const title = (alerts: AlertsAnswer) =>
    t(alerts.info > 0 ? 'alerts.titleInfo' : 'alerts.title', {
      firing: count(alerts.firing - alerts.info),
      info: count(alerts.info),
      pending: count(alerts.pending),
    });
  return (
    <h2 className={css.title} data-testid="alerts-count">
      {alerts === undefined && t('alerts.loading')}
      {alerts?.live && title(alerts)}
      {alerts?.live === false && t('alerts.titleEnded', { n: count(alerts.ended) })}
    </h2>
  );
}
