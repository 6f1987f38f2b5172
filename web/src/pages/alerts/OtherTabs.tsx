import { Button, Alert as Notice } from '@mantine/core';
import { IconArrowRight, IconBellOff, IconHistory, IconSend } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { AlertEvent, Channel, Channels, Silence } from '../../api/alerts';
import { count } from '../../base/format';
import { severityTone } from '../../ui/alerts/severity';
import { useAnnotations } from '../../ui/alerts/useAnnotations';
import { Command } from '../../ui/Command';
import { EmptyState } from '../../ui/EmptyState';
import { Time } from '../../ui/Time';
import { useSessionUrl } from '../../ui/useUrl';
import { number } from './AlertList';
import { AlertSparkline } from './AlertSparkline';
import shared from './alerts.module.css';
import css from './OtherTabs.module.css';
import { useAlertActions } from './useAlertActions';

/** What happened, the newest first, each with the values that caused it. */
export function HistoryTab(props: { items: readonly AlertEvent[]; total: number; search: string }) {
  const { t } = useTranslation();
  const [, change] = useSessionUrl();
  const annotations = useAnnotations();
  const wanted = props.search.toLowerCase();
  const shown = props.items.filter((event) =>
    `${event.rule} ${Object.values(event.labels).join(' ')} ${event.after}`.toLowerCase().includes(wanted),
  );
  if (shown.length === 0)
    return <EmptyState icon={<IconHistory size={26} />} title={t('alerts.noHistory')} />;
  return (
    <div className={shared.tableWrap}>
      <table className="rs-plain-table" data-testid="alert-history">
        <thead>
          <tr>
            <th>{t('alerts.when')}</th>
            <th>{t('alerts.rule')}</th>
            <th>{t('alerts.went')}</th>
            <th>{t('alerts.courseThen')}</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((event) => (
            <tr key={`${event.time_ns} ${event.fingerprint} ${event.after}`} data-testid="alert-event">
              <td>
                <Time ns={event.time_ns} full />
              </td>
              <td>
                <button
                  type="button"
                  className={shared.linkButton}
                  onClick={() => change((before) => ({ ...before, item: event.rule }))}
                >
                  {event.rule}
                </button>
                <div className={`rs-dim ${shared.small}`}>
                  {annotations(event.rule, event.annotations).summary}
                </div>
              </td>
              <td>
                <span className={`rs-state ${css.went}`}>
                  <span className="rs-dim">{t(`alerts.state.${event.before}`)}</span>
                  <IconArrowRight size={13} aria-label={t('alerts.to')} />
                  <b>{t(`alerts.state.${event.after}`)}</b>
                </span>
              </td>
              <td>
                {event.values.length > 0 && (
                  <span className={shared.sparkline}>
                    <AlertSparkline
                      series={[event.values]}
                      threshold={event.threshold}
                      tone={
                        event.after === 'firing' ? severityTone(event.labels.severity ?? 'none') : undefined
                      }
                      label={t('alerts.courseLabel', {
                        value: number(event.value),
                        threshold: number(event.threshold),
                      })}
                    />
                    <span className={`rs-num ${shared.small}`}>{number(event.value)}</span>
                  </span>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {props.total > props.items.length && (
        <p className={`rs-dim ${shared.small}`}>
          {t('alerts.olderLeftOut', { n: count(props.total - props.items.length) })}
        </p>
      )}
    </div>
  );
}

export function SilencesTab({ items }: { items: readonly Silence[] }) {
  const { t } = useTranslation();
  const actions = useAlertActions();
  if (items.length === 0)
    return (
      <EmptyState icon={<IconBellOff size={26} />} title={t('alerts.noSilences')}>
        {t('alerts.noSilencesText')}
      </EmptyState>
    );
  return (
    <div className={shared.tableWrap}>
      <table className="rs-plain-table" data-testid="alert-silences">
        <thead>
          <tr>
            <th>{t('alerts.stateColumn')}</th>
            <th>{t('alerts.matches')}</th>
            <th>{t('alerts.until')}</th>
            <th>{t('alerts.by')}</th>
            <th />
          </tr>
        </thead>
        <tbody>
          {items.map((silence) => (
            <tr key={silence.id} data-testid="silence" data-state={silence.state}>
              <td>{t(`alerts.silenceState.${silence.state}`)}</td>
              <td>
                <span className="rs-pairs">
                  {silence.matchers.map((one) => (
                    <span key={one.label + one.op + one.value} className="rs-pair">
                      {one.label}
                      {one.op}
                      {one.value}
                    </span>
                  ))}
                </span>
              </td>
              <td>
                <Time ns={silence.ends_ns} full />
              </td>
              <td>
                {silence.created_by} <span className="rs-dim">{silence.comment}</span>
              </td>
              <td className="rs-right">
                {silence.state !== 'expired' && (
                  <Button
                    size="compact-xs"
                    variant="default"
                    onClick={() => void actions.unsilence(silence)}
                    data-testid="unsilence"
                  >
                    {t('alerts.unsilence')}
                  </Button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function ChannelsTab({ channels }: { channels: Channels }) {
  const { t } = useTranslation();
  return (
    <>
      {channels.problem !== null && (
        <Notice color="red" variant="light" mb="sm" title={channels.problem}>
          {channels.remedy}
        </Notice>
      )}
      {channels.items.length === 0 ? (
        <EmptyState icon={<IconSend size={26} />} title={t('alerts.noChannels')}>
          {t('alerts.noChannelsText')}
          <Command>{channels.file}</Command>
        </EmptyState>
      ) : (
        <div className={shared.tableWrap}>
          <table className="rs-plain-table" data-testid="alert-channels">
            <thead>
              <tr>
                <th>{t('alerts.channel')}</th>
                <th>{t('alerts.sendsTo')}</th>
                <th>{t('alerts.delivered')}</th>
                <th>{t('alerts.lastTry')}</th>
                <th />
              </tr>
            </thead>
            <tbody>
              {channels.items.map((channel) => (
                <ChannelRow key={channel.name} channel={channel} />
              ))}
            </tbody>
          </table>
          <p className={`rs-dim ${shared.small}`}>{t('alerts.channelsHint', { file: channels.file })}</p>
        </div>
      )}
    </>
  );
}

function ChannelRow({ channel }: { channel: Channel }) {
  const { t } = useTranslation();
  const actions = useAlertActions();
  const [tested, setTested] = useState<boolean | undefined>();
  const matches = Object.entries(channel.match).map(([name, value]) => `${name}=${value}`);
  return (
    <tr data-testid="channel" data-name={channel.name} data-ok={channel.last_ok ?? undefined}>
      <td>
        <b>{channel.name}</b>
        <div className={`rs-dim ${shared.small}`}>{channel.type}</div>
      </td>
      <td>
        {channel.targets.join(', ')}
        {matches.length > 0 && <div className={`rs-dim ${shared.small}`}>{matches.join(', ')}</div>}
        {channel.problem && (
          <div className={`${shared.error} ${shared.small}`}>
            {channel.problem} {channel.remedy}
          </div>
        )}
      </td>
      <td className="rs-num">
        {t('alerts.counts', { sent: count(channel.sent), failed: count(channel.failed) })}
        {channel.waiting + channel.dropped > 0 && (
          <div className={`rs-dim ${shared.small}`}>
            {t('alerts.waiting', { waiting: count(channel.waiting), dropped: count(channel.dropped) })}
          </div>
        )}
      </td>
      <td>
        {channel.last_ns === null ? (
          <span className="rs-dim">{t('alerts.never')}</span>
        ) : (
          <>
            <span className="rs-state">
              <span
                className="rs-dot"
                style={{ background: `var(--rs-tone-${channel.last_ok ? 'good' : 'bad'})` }}
              />
              {t(channel.last_ok ? 'alerts.delivery.ok' : 'alerts.delivery.failed')}{' '}
              <Time ns={channel.last_ns} />
            </span>
            <div className={`rs-dim ${shared.small}`}>{channel.last_error ?? channel.last_title}</div>
            {channel.next_try_ns !== null && (
              <div className={`rs-dim ${shared.small}`}>
                {t('alerts.nextTry')} <Time ns={channel.next_try_ns} />
              </div>
            )}
          </>
        )}
      </td>
      <td className="rs-right">
        <Button
          size="compact-xs"
          variant="default"
          disabled={channel.problem !== null}
          onClick={() => void actions.test(channel).then((result) => setTested(result?.ok))}
          data-testid="channel-test"
          data-tested={tested}
        >
          {t('alerts.test')}
        </Button>
      </td>
    </tr>
  );
}
