import { useTranslation } from 'react-i18next';
import { type AlertsTopic, useTopic } from '../../api/realtime';
import type { AlertInfo } from '../../api/schema';
import { count } from '../../base/format';
import { REPORT } from '../../base/report';
import { toForm, toView } from '../../base/url';
import { alertTone } from '../../ui/alerts/severity';
import { useAnnotations } from '../../ui/alerts/useAnnotations';
import { Link } from '../../ui/Link';
import { Panel, PanelBody, PanelText } from '../../ui/panels/Panel';
import { MAX_LINES, PanelLine } from '../../ui/panels/PanelLine';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';

/** Firing and pending alerts. */
export function AlertsPanel({ live }: { live: boolean }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const topic = useTopic<AlertsTopic>('alerts', { session: url.session });
  const annotations = useAnnotations();
  return (
    <Panel
      title={t(live ? 'overview.alerts' : 'overview.alertsEnded')}
      note={
        <>
          {topic && count(topic.firing + topic.pending + topic.ended)}
          {topic && REPORT === null && ' · '}
          {REPORT === null && (
            <Link to={toForm(url, 'alerts')} className={words.link} testId="overview-notify">
              {t('alerts.notify')}
            </Link>
          )}
        </>
      }
      to={toView(url, 'alerts')}
      testId="panel-alerts"
    >
      <PanelBody data={topic?.items} error={null}>
        {(items) =>
          items.length === 0 ? (
            <PanelText good>{t(live ? 'overview.noAlerts' : 'overview.noAlertsEnded')}</PanelText>
          ) : (
            <ul>
              {items.slice(0, MAX_LINES).map((alert) => (
                <PanelLine
                  key={alert.fingerprint}
                  tone={alertTone(alert)}
                  ns={alert.fired_ns || alert.active_ns}
                  to={toView(url, 'alerts', { q: alert.rule })}
                  name={alert.rule}
                  text={alertText(annotations(alert.annotations))}
                />
              ))}
            </ul>
          )
        }
      </PanelBody>
    </Panel>
  );
}

const alertText = ({ summary, description }: Record<string, string>) => summary ?? description ?? '';

/**
 * Whether an alert is firing (or was when the session ended), is above severity `info`, and is not silenced.
 */
export const isFiring = (alert: AlertInfo) =>
  alert.state !== 'pending' && alert.severity !== 'info' && alert.silenced_by.length === 0;
