import { Button, Tooltip } from '@mantine/core';
import { IconBellOff, IconUserCheck } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { AlertInfo } from '../../api/schema';
import { duration, fullTime, shortId } from '../../base/format';
import { toView } from '../../base/url';
import { Severity } from '../../ui/alerts/Severity';
import { alertTone } from '../../ui/alerts/severity';
import { useAnnotations } from '../../ui/alerts/useAnnotations';
import { ItemLink } from '../../ui/ItemLink';
import { Link } from '../../ui/Link';
import { Time } from '../../ui/Time';
import pairs from '../../ui/theme/pairs.module.css';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { AlertCause } from './AlertCause';
import css from './AlertList.module.css';
import { AlertProfile } from './AlertProfile';
import shared from './alerts.module.css';
import { useAlertActions } from './useAlertActions';

/** A list of alerts: what is firing, where, since when, and what to do about it. */
export function AlertList(props: { alerts: readonly AlertInfo[]; now: number; live: boolean }) {
  const { alerts, now, live } = props;
  return (
    <ul className={css.alerts}>
      {alerts.map((alert) => (
        <Row key={`${alert.fingerprint} ${alert.state}`} alert={alert} now={now} live={live} />
      ))}
    </ul>
  );
}

/** Labels whose values the heading of an alert already shows. */
const HEADING_LABELS: ReadonlySet<string> = new Set(['alertname', 'severity']);

function Row({ alert, now, live }: { alert: AlertInfo; now: number; live: boolean }) {
  const { t } = useTranslation();
  const [url, change] = useSessionUrl();
  const actions = useAlertActions();
  const { summary: text, description } = useAnnotations()(alert.annotations);
  // An error in the template is not a useful title. RuleProblems shows what is wrong.
  const summary = text?.startsWith('<error expanding template:') ? undefined : text;
  const began = alert.fired_ns || alert.active_ns;
  // The age of an end would grow without meaning once the session has ended: show how long the alert fired.
  const [since, until] = live ? [alert.resolved_ns || began, now] : [began, alert.resolved_ns || now];
  const node = alert.labels.node_id;
  const over = alert.resolved_ns > 0;
  const labels = Object.entries(alert.labels).filter(([name]) => !HEADING_LABELS.has(name));
  return (
    <li
      className={css.alert}
      data-tone={alertTone(alert)}
      data-state={alert.state}
      data-testid="alert"
      data-rule={alert.rule}
    >
      <div className={css.state}>
        <b>{t(`alerts.state.${alert.state}`)}</b>
        <span className={`${words.dim} ${words.num}`} title={fullTime(since) || undefined}>
          {duration(Math.max(0, until - since))}
        </span>
      </div>
      <div className={css.text}>
        <div className={shared.head}>
          <button
            type="button"
            className={shared.linkButton}
            onClick={() => change((before) => ({ ...before, item: alert.rule }))}
          >
            {summary ?? alert.rule}
          </button>
          <Severity severity={alert.severity} />
          {summary && <span className={words.dim}>{alert.rule}</span>}
        </div>
        {description && <div className={`${words.dim} ${css.description}`}>{description}</div>}
        <div className={`${words.dim} ${css.description}`} data-testid="alert-condition">
          {alert.condition && <code>{alert.condition}</code>}
          {alert.value !== null &&
            ` · ${t(over || !live ? 'alerts.valueThen' : 'alerts.valueNow', { value: Number(alert.value.toPrecision(6)) })}`}
        </div>
        <div className={`${pairs.pairs} ${css.labels}`}>
          {labels.map(([name, value]) => (
            <span key={name} className={pairs.pair} title={value}>
              <span className={words.dim}>{name}</span>{' '}
              {name === 'node_id' && node ? (
                <ItemLink view="nodes" id={node} />
              ) : name === 'job_id' ? (
                <Link to={toView(url, 'insights', { job_id: value })}>{value}</Link>
              ) : /^[0-9a-f]{24,}$/.test(value) ? (
                shortId(value)
              ) : (
                value
              )}
            </span>
          ))}
        </div>
        <AlertCause labels={alert.labels} />
        <AlertProfile profile={alert.profile} />
        {alert.ack !== null && (
          <div className={css.note}>
            <IconUserCheck size={14} aria-hidden />
            <span>
              {t('alerts.ackedBy', { by: alert.ack.by })} <Time ns={alert.ack.time_ns} /> {alert.ack.comment}
            </span>
          </div>
        )}
        {alert.silenced_by.length > 0 && (
          <div className={css.note} data-testid="alert-silenced">
            <IconBellOff size={14} aria-hidden />
            <span>{t('alerts.silenced')}</span>
          </div>
        )}
      </div>
      {!over && live && (
        <div className={css.actions}>
          {alert.ack === null && (
            <Tooltip label={t('alerts.ackHint')}>
              <Button
                size="compact-xs"
                variant="default"
                onClick={() => void actions.acknowledge(alert)}
                data-testid="alert-ack"
              >
                {t('alerts.ack')}
              </Button>
            </Tooltip>
          )}
          {alert.silenced_by.length === 0 && (
            <Tooltip label={t('alerts.silenceHint')}>
              <Button
                size="compact-xs"
                variant="default"
                onClick={() => void actions.silence(alert)}
                data-testid="alert-silence"
              >
                {t('alerts.silence')}
              </Button>
            </Tooltip>
          )}
        </div>
      )}
    </li>
  );
}
