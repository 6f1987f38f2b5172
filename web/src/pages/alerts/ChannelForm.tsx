import { Checkbox, SegmentedControl, Select, Stack, Textarea, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { ChannelInfo } from '../../api/schema';
import { useDraft } from '../../ui/useDraft';

/** This severity sends alerts of every severity. By default, alerts of severity `info` are not sent. */
const ALL = '*';
/** Sends the alerts of chosen rules. */
const CHOSEN = 'chosen';
/** The rules that the form offers, in plain words. */
const OFFERED = [
  'JobFailed',
  'NodeDead',
  'NodeMemoryHigh',
  'UnschedulableDemands',
  'RunSlowerThanUsual',
] as const;

/** A channel as entered in the form. */
interface ChannelDraft {
  name: string;
  type: string;
  address: string;
  token: string;
  severity: string;
  rules: string[];
}

export function channelDraft(channel?: ChannelInfo): ChannelDraft {
  return {
    name: channel?.name ?? '',
    type: channel?.type ?? 'apprise',
    address: '',
    token: '',
    severity:
      channel === undefined || channel.rules.length > 0
        ? CHOSEN
        : (channel.match.severity ?? (channel.send_info ? ALL : '')),
    rules: channel?.rules.length ? channel.rules : [...OFFERED],
  };
}

/**
 * The body of PUT /api/v1/alerts/channels/NAME. If the address is empty, the server keeps the existing one.
 */
export function channelBody(draft: ChannelDraft, before?: ChannelInfo): object {
  const { severity: _, ...match } = before?.match ?? {};
  const isChosen = draft.severity === CHOSEN;
  const isSeverity = !isChosen && draft.severity !== '' && draft.severity !== ALL;
  const which =
    isChosen && before?.rules.length
      ? { match: before.match, send_info: before.send_info } // which the form does not show
      : {
          match: { ...match, ...(isSeverity && { severity: draft.severity }) },
          send_info: isChosen || draft.severity === ALL || draft.severity === 'info',
        };
  const addresses = draft.address.split(/\s+/).filter((address) => address !== '');
  const config =
    draft.type === 'apprise'
      ? { urls: addresses }
      : { url: addresses[0], ...(draft.token.trim() !== '' && { token: draft.token.trim() }) };
  return {
    type: draft.type,
    config: addresses.length === 0 ? null : config,
    ...which,
    rules: isChosen ? draft.rules : [],
    send_resolved: before?.send_resolved ?? true,
  };
}

/**
 * The form of a channel, which is new if `types` is given: the types that the server has. It changes `draft`
 * in place; the values are sent when the user confirms.
 */
export function ChannelForm({ draft, types }: { draft: ChannelDraft; types?: readonly string[] }) {
  const { t } = useTranslation();
  const [shown, set] = useDraft(draft);
  const isNew = types !== undefined;
  const isApprise = shown.type === 'apprise';
  return (
    <Stack gap="sm">
      <TextInput
        label={t('alerts.form.name')}
        value={shown.name}
        onChange={(event) => set({ name: event.currentTarget.value })}
        required
        disabled={!isNew}
        maxLength={100}
        data-autofocus={isNew || undefined}
        data-testid="channel-name"
      />
      {isNew && (
        <SegmentedControl
          size="xs"
          aria-label={t('alerts.form.type')}
          value={shown.type}
          onChange={(type) => set({ type })}
          data={types.map((type) => ({
            value: type,
            label: t(`alerts.form.types.${type}`, { defaultValue: type }),
          }))}
        />
      )}
      <Textarea
        label={t('alerts.form.address')}
        description={t(
          isNew ? (isApprise ? 'alerts.form.appriseHint' : 'alerts.form.urlHint') : 'alerts.form.keepHint',
        )}
        value={shown.address}
        onChange={(event) => set({ address: event.currentTarget.value })}
        required={isNew}
        autosize
        data-testid="channel-address"
      />
      {!isApprise && (
        <TextInput
          label={t('alerts.form.token')}
          type="password"
          value={shown.token}
          onChange={(event) => set({ token: event.currentTarget.value })}
          autoComplete="off"
        />
      )}
      <Select
        label={t('alerts.form.which')}
        allowDeselect={false}
        value={shown.severity}
        onChange={(severity) => set({ severity: severity ?? '' })}
        data={[
          { value: CHOSEN, label: t('alerts.form.chosen') },
          { value: '', label: t('alerts.form.most') },
          { value: ALL, label: t('alerts.form.all') },
          ...(['critical', 'warning', 'info'] as const).map((value) => ({
            value,
            label: t('alerts.form.only', { severity: t(`alerts.severity.${value}`) }),
          })),
        ]}
      />
      {shown.severity === CHOSEN && (
        <Checkbox.Group
          aria-label={t('alerts.form.which')}
          value={shown.rules}
          onChange={(rules) => rules.length > 0 && set({ rules })}
          data-testid="channel-rules"
        >
          <Stack gap={6}>
            {[...new Set<string>([...OFFERED, ...shown.rules])].map((rule) => (
              <Checkbox
                key={rule}
                size="xs"
                value={rule}
                label={t(`alerts.form.rules.${rule as (typeof OFFERED)[number]}`, { defaultValue: rule })}
              />
            ))}
          </Stack>
        </Checkbox.Group>
      )}
    </Stack>
  );
}
