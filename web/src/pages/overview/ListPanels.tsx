import { useTranslation } from 'react-i18next';
import type { Alert } from '../../api/alerts';
import { isMissing } from '../../api/client';
import type { Summary } from '../../api/types';
import { useClusterStatus } from '../../api/useClusterStatus';
import { count, shapeText, shortId } from '../../base/format';
import type { Tone } from '../../base/tokens';
import { toItem, toView, type Url, withSettings } from '../../base/url';
import { alertTone } from '../../ui/alerts/severity';
import { useAnnotations } from '../../ui/alerts/useAnnotations';
import { inShort, placeOf, SEVERITY_TONES } from '../../ui/eventPlace';
import { Link } from '../../ui/Link';
import { ServerMessageLine } from '../../ui/ServerMessageLine';
import { Time } from '../../ui/Time';
import { useReasonText } from '../../ui/useReasonText';
import { useSessionUrl } from '../../ui/useUrl';
import { oneLine } from '../../ui/Value';
import css from './ListPanels.module.css';
import shared from './overview.module.css';
import { Panel, PanelBody, PanelText } from './Panel';
import { useAlerts, useEvents } from './useOverview';

const SHOWN = 6;

/** The newest failures, each a way to the whole of it. */
export function FailuresPanel({ summary }: { summary: Summary | undefined }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const failed = summary?.states.FAILED ?? 0;
  return (
    <Panel
      title={t('overview.failures')}
      note={summary && count(failed)}
      to={toView(url, 'failures')}
      testId="panel-failures"
    >
      <PanelBody data={summary?.failures} error={null} isMissing={false} missing="">
        {(failures) =>
          failures.length === 0 ? (
            <PanelText good={failed === 0}>
              {t(failed === 0 ? 'overview.noFailures' : 'overview.failuresElsewhere')}
            </PanelText>
          ) : (
            <ul className="rs-plain">
              {failures.slice(0, SHOWN).map((one) => (
                <Line
                  key={`${one.task_id} ${one.attempt}`}
                  tone="bad"
                  ns={one.end_ns}
                  to={{ ...url, task: one.task_id, attempt: one.attempt }}
                  name={one.name ?? shortId(one.task_id)}
                  text={one.error_summary ?? one.error_message ?? ''}
                />
              ))}
            </ul>
          )
        }
      </PanelBody>
    </Panel>
  );
}

export function EventsPanel({ live }: { live: boolean }) {
  const { t, i18n } = useTranslation();
  const [url] = useSessionUrl();
  const events = useEvents(url.session, live);
  return (
    <Panel
      title={t('overview.events')}
      note={events.data && count(events.data.total)}
      to={toView(url, 'events')}
      testId="panel-events"
    >
      <PanelBody
        data={events.data}
        error={events.error}
        isMissing={isMissing(events.error)}
        missing={t('overview.eventsMissing')}
      >
        {({ items }) =>
          items.length === 0 ? (
            <PanelText>{t('overview.noEvents')}</PanelText>
          ) : (
            <ul className="rs-plain">
              {items.slice(0, SHOWN).map((event, at) => (
                <Line
                  // biome-ignore lint/suspicious/noArrayIndexKey: events have no name of their own.
                  key={at}
                  tone={SEVERITY_TONES[event.severity]}
                  ns={event.time_ns}
                  to={placeOf(url, event)}
                  name={
                    i18n.exists(`events.event.${event.event}`)
                      ? t(`events.event.${event.event}` as 'overview.events')
                      : event.event
                  }
                  text={[event.title, inShort(event)].filter(Boolean).join(' · ')}
                  times={event.count}
                />
              ))}
            </ul>
          )
        }
      </PanelBody>
    </Panel>
  );
}

/** The alerts that fire or are about to. */
export function AlertsPanel() {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const alerts = useAlerts(url.session);
  const annotations = useAnnotations();
  return (
    <Panel
      title={t('overview.alerts')}
      note={alerts && count(alerts.filter(isFiring).length)}
      to={toView(url, 'alerts')}
      testId="panel-alerts"
    >
      <PanelBody data={alerts} error={null} isMissing={false} missing="">
        {(items) => {
          const shown = items.filter(({ state }) => state === 'firing' || state === 'pending');
          return shown.length === 0 ? (
            <PanelText good>{t('overview.noAlerts')}</PanelText>
          ) : (
            <ul className="rs-plain">
              {shown.slice(0, SHOWN).map((alert) => (
                <Line
                  key={alert.fingerprint}
                  tone={alertTone(alert)}
                  ns={alert.active_ns}
                  to={toView(url, 'alerts', { q: alert.rule })}
                  name={alert.rule}
                  text={whatFires(annotations(alert.rule, alert.annotations))}
                />
              ))}
            </ul>
          );
        }}
      </PanelBody>
    </Panel>
  );
}

const whatFires = ({ summary, description }: Record<string, string>) => summary ?? description ?? '';

/** It fires, and nobody said to leave it be. */
export const isFiring = (alert: Alert) => alert.state === 'firing' && alert.silenced_by.length === 0;

/** What waits for a place and why, and what the autoscaler does about it. */
export function PendingPanel({ live }: { live: boolean }) {
  const { t, i18n } = useTranslation();
  const [url] = useSessionUrl();
  const status = useClusterStatus(url.session);
  const reasonText = useReasonText();
  if (!live && !status.data?.pending.length) return null;
  const scaler = status.data?.autoscaler ?? null;
  return (
    <Panel
      title={t('overview.pending')}
      note={status.data && count(status.data.pending.reduce((sum, one) => sum + one.count, 0))}
      to={withSettings(toView(url, 'nodes'), { mode: 'resources' })}
      testId="panel-pending"
    >
      <PanelBody
        data={status.data}
        error={status.error}
        isMissing={isMissing(status.error)}
        missing={t('overview.pendingMissing')}
      >
        {(data) => (
          <>
            {data.error !== null ? (
              <PanelText>
                <ServerMessageLine of={data} />
              </PanelText>
            ) : data.pending.length === 0 ? (
              <PanelText good>{t('overview.noPending')}</PanelText>
            ) : (
              <ul className="rs-plain">
                {data.pending.slice(0, SHOWN).map((one) => (
                  <Line
                    key={`${one.kind} ${one.name} ${one.id} ${one.job_id} ${one.reason.code}`}
                    tone={one.reason.never ? 'bad' : 'waiting'}
                    ns={one.since_ns}
                    to={wherePending(url, one)}
                    name={one.name || t(`overview.kind.${one.kind === 'actor' ? 'actor' : 'task'}`)}
                    text={`${asks(one.resources)}. ${reasonText(one.reason)}`}
                    times={one.count}
                  />
                ))}
              </ul>
            )}
            {data.pending.length > SHOWN && (
              <PanelText>
                {t('overview.morePending', { n: count(data.pending.length - SHOWN + data.pending_left_out) })}
              </PanelText>
            )}
            <p className={`${shared.panelText} rs-dim`} data-testid="autoscaler">
              {scaler === null
                ? t('overview.noAutoscaler')
                : t('overview.autoscaler', {
                    active: types(scaler.active),
                    idle: types(scaler.idle),
                    pending: types(scaler.pending),
                  })}
              {scaler?.failed.slice(0, 2).map(([type, why]) => (
                <span key={type} className="rs-break">
                  {' '}
                  {t('overview.autoscalerFailed', { type, why })}
                </span>
              ))}
              {(scaler?.infeasible.length ?? 0) > 0 && (
                <>
                  {' '}
                  {t('overview.autoscalerInfeasible', {
                    what: scaler?.infeasible.slice(0, 3).map(oneLine).join('; '),
                  })}
                </>
              )}
            </p>
          </>
        )}
      </PanelBody>
    </Panel>
  );

  function asks(resources: Record<string, number>): string {
    if (Object.keys(resources).length === 0) return t('overview.asksNothing');
    return t('overview.asks', { what: shapeText(resources) });
  }

  function types(numbers: Record<string, number>): string {
    const sums = new Map<string, number>();
    for (const [type, number] of Object.entries(numbers)) {
      // Where nobody named types, each node is one of its own.
      const name = type === '' || /^node_[0-9a-f]{20,}$/.test(type) ? t('overview.nodes') : type;
      sums.set(name, (sums.get(name) ?? 0) + number);
    }
    const list = [...sums].map(([name, number]) => `${count(number)} ${name}`);
    return list.length === 0 ? '0' : list.join(i18n.language === 'zh' ? '、' : ', ');
  }
}

/** The tasks, actors or group that wait. */
function wherePending(
  url: Parameters<typeof toView>[0],
  one: { kind: string; name: string; id: string | null; job_id: string | null },
): Url {
  if (one.kind === 'placement_group')
    return one.id === null ? toView(url, 'placement-groups') : toItem(url, 'placement-groups', one.id);
  if (one.kind === 'actor') return toView(url, 'actors', { state: 'PENDING_CREATION', q: one.name });
  return toView(url, 'tasks', {
    func_name: one.name,
    state: 'PENDING_NODE_ASSIGNMENT',
    ...(one.job_id !== null && { job_id: one.job_id }),
  });
}

/** One thing that happened or is so: when, what, and the words for it. */
function Line(props: {
  tone: Tone;
  ns: number | null;
  to?: Url;
  name: string;
  text: string;
  times?: number;
}) {
  const { t } = useTranslation();
  return (
    <li className={css.panelLine}>
      <span className="rs-dot" style={{ background: `var(--rs-tone-${props.tone})` }} />
      <span className={`rs-dim ${css.panelWhen}`}>
        <Time ns={props.ns} />
      </span>
      <span className={css.panelWhat}>
        {props.to === undefined ? (
          <span className="rs-name">{props.name}</span>
        ) : (
          <Link to={props.to} className="rs-link rs-name">
            {props.name}
          </Link>
        )}
        {(props.times ?? 1) > 1 && (
          <span className="rs-num rs-dim" title={t('overview.times', { n: count(props.times) })}>
            {' '}
            × {count(props.times)}
          </span>
        )}
        {props.text !== '' && (
          <span className="rs-dim" title={props.text}>
            {' '}
            {props.text}
          </span>
        )}
      </span>
    </li>
  );
}
