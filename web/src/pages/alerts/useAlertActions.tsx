import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { AlertInfo, ChannelInfo, RuleInfo, SilenceInfo } from '../../api/schema';
import { useOperatorAction } from '../../ui/operator';
import { useSessionUrl } from '../../ui/useUrl';
import { ChannelForm, channelBody, channelDraft } from './ChannelForm';
import { DraftForm, newDraft } from './forms';
import { RuleForm, ruleBody, ruleDraft } from './RuleForm';
import { useRefresh } from './useAlerts';

/** The author if the operator leaves the name empty. */
const DEFAULT_AUTHOR = 'operator';

/** Operator actions on alerts. Each requires a confirmation. */
export function useAlertActions() {
  const act = useOperatorAction();
  const refresh = useRefresh();
  const { t } = useTranslation();
  const [url] = useSessionUrl();

  /** Saves a rule or a channel under the name in the form. Returns whether the user did so. */
  async function save(
    kind: 'rules' | 'channels',
    draft: { name: string },
    body: () => unknown,
    title: string,
    form: ReactNode,
  ): Promise<boolean> {
    const answer = await act({
      method: 'PUT',
      get path() {
        return `/alerts/${kind}/${encodeURIComponent(draft.name.trim())}`;
      },
      body: async () => body(),
      title,
      text: form,
      confirm: t('alerts.save'),
      size: 'lg',
    });
    refresh();
    return answer !== undefined;
  }

  async function remove(kind: 'rules' | 'channels', name: string, text: string): Promise<void> {
    await act({
      method: 'DELETE',
      path: `/alerts/${kind}/${encodeURIComponent(name)}`,
      title: name,
      text,
      confirm: t('alerts.delete'),
      danger: true,
    });
    refresh();
  }

  return {
    async silence(alert: AlertInfo): Promise<void> {
      const draft = newDraft();
      const matchers = Object.entries(alert.labels).map(([label, value]) => ({ label, op: '=', value }));
      await act({
        method: 'POST',
        path: '/alerts/silences',
        body: {
          matchers: [...matchers, { label: 'session', op: '=', value: url.session }],
          get duration_s() {
            return draft.duration_s;
          },
          get created_by() {
            return draft.by.trim() || DEFAULT_AUTHOR;
          },
          get comment() {
            return draft.comment;
          },
        },
        title: t('alerts.silenceTitle', { rule: alert.rule }),
        text: <DraftForm draft={draft} text={t('alerts.silenceText')} timed />,
        confirm: t('alerts.silence'),
      });
      refresh();
    },
    async unsilence(silence: SilenceInfo): Promise<void> {
      await act({
        method: 'DELETE',
        path: `/alerts/silences/${encodeURIComponent(silence.id)}`,
        title: t('alerts.unsilenceTitle'),
        text: t('alerts.unsilenceText'),
        confirm: t('alerts.unsilence'),
      });
      refresh();
    },
    async acknowledge(alert: AlertInfo): Promise<void> {
      const draft = newDraft();
      await act({
        method: 'POST',
        path: '/alerts/ack',
        body: {
          session: url.session,
          fingerprint: alert.fingerprint,
          get by() {
            return draft.by.trim() || DEFAULT_AUTHOR;
          },
          get comment() {
            return draft.comment;
          },
        },
        title: t('alerts.ackTitle', { rule: alert.rule }),
        text: <DraftForm draft={draft} text={t('alerts.ackText')} />,
        confirm: t('alerts.ack'),
      });
      refresh();
    },
    /** Creates a rule, or edits `rule`. */
    editRule(rule?: RuleInfo): Promise<boolean> {
      const draft = ruleDraft(rule);
      const form = <RuleForm draft={draft} isNew={rule === undefined} />;
      return save('rules', draft, () => ruleBody(draft, rule), rule?.name ?? t('alerts.addRule'), form);
    },
    async switchRule(rule: RuleInfo): Promise<void> {
      await act({
        method: 'PUT',
        path: `/alerts/rules/${encodeURIComponent(rule.name)}/enabled`,
        body: { enabled: !rule.enabled },
        title: rule.name,
        text: t(rule.enabled ? 'alerts.disableText' : 'alerts.enableText'),
        confirm: t(rule.enabled ? 'alerts.disable' : 'alerts.enable'),
      });
      refresh();
    },
    deleteRule: (rule: RuleInfo) => remove('rules', rule.name, t('alerts.deleteRuleText')),
    /** Creates a channel of one of these types. */
    addChannel(types: readonly string[]): Promise<boolean> {
      const draft = channelDraft();
      const form = <ChannelForm draft={draft} types={types} />;
      return save('channels', draft, () => channelBody(draft), t('alerts.addChannel'), form);
    },
    editChannel(channel: ChannelInfo): Promise<boolean> {
      const draft = channelDraft(channel);
      const form = <ChannelForm draft={draft} />;
      return save('channels', draft, () => channelBody(draft, channel), channel.name, form);
    },
    deleteChannel: (channel: ChannelInfo) => remove('channels', channel.name, t('alerts.deleteChannelText')),
    async test(channel: ChannelInfo): Promise<void> {
      await act({
        method: 'POST',
        path: `/alerts/channels/${encodeURIComponent(channel.name)}/test`,
        title: t('alerts.testTitle', { name: channel.name }),
        text: t('alerts.testText', { targets: channel.targets.join(', ') }),
        confirm: t('alerts.test'),
      });
      refresh();
    },
  };
}
