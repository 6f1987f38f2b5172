import { Box, Alert as Notice } from '@mantine/core';
import { IconSend } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { ChannelInfo, ChannelsAnswer } from '../../api/schema';
import { count } from '../../base/format';
import { Command } from '../../ui/Command';
import { Dot } from '../../ui/Dot';
import { EmptyState } from '../../ui/EmptyState';
import { Time } from '../../ui/Time';
import plain from '../../ui/theme/plainTable.module.css';
import words from '../../ui/theme/words.module.css';
import { useServerMessage } from '../../ui/useServerMessage';
import shared from './alerts.module.css';
import { EditButton, EditButtons } from './EditButton';
import { ProblemText } from './ProblemText';
import { useAlertActions } from './useAlertActions';

/** Where alerts are sent, and whether sending them succeeded. */
export function ChannelsTab({ channels }: { channels: ChannelsAnswer }) {
  const { t } = useTranslation();
  const actions = useAlertActions();
  return (
    <>
      <Box mb="sm">
        <EditButton kind="channel" action="add" onClick={() => void actions.addChannel(channels.kinds)} />
      </Box>
      {channels.problem !== null && (
        <Notice color="red" variant="light" mb="sm">
          <ProblemText of={channels.problem} />
        </Notice>
      )}
      {channels.items.length === 0 ? (
        <EmptyState icon={<IconSend size={26} />} title={t('alerts.noChannels')}>
          {t('alerts.noChannelsText')}
          <Command>{channels.file}</Command>
        </EmptyState>
      ) : (
        <div className={shared.tableWrap}>
          <table className={plain.table} data-testid="alert-channels">
            <thead>
              <tr>
                <th>{t('alerts.channel')}</th>
                <th>{t('alerts.sendsTo')}</th>
                <th>{t('alerts.delivered')}</th>
                <th>{t('alerts.lastTry')}</th>
                <td />
              </tr>
            </thead>
            <tbody>
              {channels.items.map((channel) => (
                <ChannelRow key={channel.name} channel={channel} />
              ))}
            </tbody>
          </table>
          <p className={`${words.dim} ${shared.small}`}>
            {t('alerts.channelsHint', { file: channels.file })}
          </p>
        </div>
      )}
    </>
  );
}

function ChannelRow({ channel }: { channel: ChannelInfo }) {
  const { t } = useTranslation();
  const translate = useServerMessage();
  const actions = useAlertActions();
  const matches = Object.entries(channel.match).map(([name, value]) => `${name}=${value}`);
  return (
    <tr data-testid="channel" data-name={channel.name} data-ok={channel.last_ok ?? undefined}>
      <td>
        <b>{channel.name}</b>
        <div className={`${words.dim} ${shared.small}`}>{channel.type}</div>
      </td>
      <td>
        {channel.targets.join(', ')}
        {matches.length > 0 && <div className={`${words.dim} ${shared.small}`}>{matches.join(', ')}</div>}
        {channel.problem && (
          <div className={shared.small}>
            <ProblemText of={channel.problem} />
          </div>
        )}
      </td>
      <td className={words.num}>
        {t('alerts.counts', { sent: count(channel.sent), failed: count(channel.failed) })}
        {channel.waiting + channel.dropped > 0 && (
          <div className={`${words.dim} ${shared.small}`}>
            {t('alerts.waiting', { waiting: count(channel.waiting), dropped: count(channel.dropped) })}
          </div>
        )}
      </td>
      <td>
        {channel.last_ns === null ? (
          <span className={words.dim}>{t('alerts.never')}</span>
        ) : (
          <>
            <span className={`${words.state} ${shared.state}`}>
              <Dot color={`var(--rs-tone-${channel.last_ok ? 'good' : 'bad'})`} />
              {t(channel.last_ok ? 'alerts.delivery.ok' : 'alerts.delivery.failed')}{' '}
              <Time ns={channel.last_ns} />
            </span>
            <div className={`${words.dim} ${shared.small}`}>
              {channel.last_error ? translate(channel.last_error).message : channel.last_title}
            </div>
            {channel.next_try_ns !== null && (
              <div className={`${words.dim} ${shared.small}`}>
                {t('alerts.nextTry')} <Time ns={channel.next_try_ns} />
              </div>
            )}
          </>
        )}
      </td>
      <td>
        <EditButtons>
          <EditButton
            kind="channel"
            action="test"
            name={channel.name}
            disabled={channel.problem !== null}
            onClick={() => void actions.test(channel)}
          />
          <EditButton
            kind="channel"
            action="edit"
            name={channel.name}
            onClick={() => void actions.editChannel(channel)}
          />
          <EditButton
            kind="channel"
            action="delete"
            name={channel.name}
            onClick={() => void actions.deleteChannel(channel)}
          />
        </EditButtons>
      </td>
    </tr>
  );
}
