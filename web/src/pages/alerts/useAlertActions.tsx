import { useTranslation } from 'react-i18next';
import type { Alert, Channel, Silence } from '../../api/alerts';
import { useOperatorAction } from '../../ui/operator';
import { useSessionUrl } from '../../ui/useUrl';
import { DraftForm, newDraft } from './forms';
import { useRefresh } from './useAlerts';

/** A name is asked for, but nobody is kept from acting for want of one. */
const NOBODY = 'operator';

/** What an operator does about alerts; each asks once more first. */
export function useAlertActions() {
  const act = useOperatorAction();
  const refresh = useRefresh();
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  return {
    async silence(alert: Alert): Promise<void> {
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
            return draft.by.trim() || NOBODY;
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
    async unsilence(silence: Silence): Promise<void> {
      await act({
        method: 'DELETE',
        path: `/alerts/silences/${encodeURIComponent(silence.id)}`,
        title: t('alerts.unsilenceTitle'),
        text: t('alerts.unsilenceText'),
        confirm: t('alerts.unsilence'),
      });
      refresh();
    },
    async acknowledge(alert: Alert): Promise<void> {
      const draft = newDraft();
      await act({
        method: 'POST',
        path: '/alerts/ack',
        body: {
          session: url.session,
          fingerprint: alert.fingerprint,
          get by() {
            return draft.by.trim() || NOBODY;
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
    /** Undefined if it was cancelled. */
    async test(channel: Channel): Promise<{ ok: boolean; error: string | null } | undefined> {
      const result = await act<{ ok: boolean; error: string | null }>({
        method: 'POST',
        path: `/alerts/channels/${encodeURIComponent(channel.name)}/test`,
        title: t('alerts.testTitle', { name: channel.name }),
        text: t('alerts.testText', { targets: channel.targets.join(', ') }),
        confirm: t('alerts.test'),
      });
      refresh();
      return result;
    },
  };
}
