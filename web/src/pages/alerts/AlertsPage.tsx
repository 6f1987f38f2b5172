import { Button, Skeleton } from '@mantine/core';
import { IconBellCheck, IconBellPlus, IconPlayerPause } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { AlertInfo } from '../../api/schema';
import { count } from '../../base/format';
import { withSettings } from '../../base/url';
import { useAnnotations } from '../../ui/alerts/useAnnotations';
import { EmptyState } from '../../ui/EmptyState';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { Time } from '../../ui/Time';
import { Toolbar } from '../../ui/Toolbar';
import layout from '../../ui/theme/layout.module.css';
import words from '../../ui/theme/words.module.css';
import { useFormLink } from '../../ui/useFormLink';
import { useSessionUrl } from '../../ui/useUrl';
import { AlertList } from './AlertList';
import css from './AlertsPage.module.css';
import { AlertsTitle } from './AlertsTitle';
import shared from './alerts.module.css';
import { ChannelsTab } from './ChannelsTab';
import { HistoryTab } from './HistoryTab';
import { ProfileDrawer } from './ProfileDrawer';
import { RuleDrawer } from './RuleDrawer';
import { RuleProblems } from './RuleProblems';
import { RulesTab } from './RulesTab';
import { SilencesTab } from './SilencesTab';
import { useAlertActions } from './useAlertActions';
import { useAlerts, useChannels, useHistory, useRules, useSilences } from './useAlerts';

const TABS = ['rules', 'history', 'silences', 'channels'] as const;

/** Current alerts, followed by rules, history, silences and channels. */
export default function AlertsPage() {
  const { t } = useTranslation();
  const [url, change] = useSessionUrl();
  const alerts = useAlerts(url.session);
  const rules = useRules(url.session);
  const history = useHistory(url.session);
  const silences = useSilences();
  const channels = useChannels();
  const annotations = useAnnotations();
  const search = url.filters.q ?? '';
  const chosen = TABS.find((name) => name === url.settings?.tab) ?? 'rules';
  const { data } = alerts;
  const fits = (alert: AlertInfo) =>
    `${alert.rule} ${Object.values(alert.labels).join(' ')} ${annotations(alert.annotations).summary ?? ''}`
      .toLowerCase()
      .includes(search.toLowerCase());
  // Ages are relative to the latest time from the server, so that a wrong local clock does not matter.
  const now = Math.max(data?.evaluated_ns ?? 0, ...(data?.items ?? []).map((alert) => alert.active_ns));
  const rule = rules.data?.items.find((one) => one.name === url.item);
  const numbers = {
    rules: rules.data?.items.length,
    history: history.data?.total,
    silences: silences.data?.items.filter((one) => one.state === 'active').length,
    channels: channels.data?.items.length,
  };
  if (alerts.error !== null && data === undefined)
    return <ErrorPanel error={alerts.error} onRetry={() => void alerts.refetch()} />;
  return (
    <>
      <Toolbar
        search={t('alerts.search')}
        options={channels.data !== undefined && <NotifyButton kinds={channels.data.kinds} />}
        count={<AlertsTitle alerts={data} />}
      >
        {data?.evaluated_ns != null && (
          <span className={`${words.dim} ${shared.small}`}>
            {t('alerts.evaluated')} <Time ns={data.evaluated_ns} />
          </span>
        )}
      </Toolbar>
      <div className={`${layout.scrollPage} ${shared.page}`} data-testid="alerts-page">
        {rules.data && <RuleProblems rules={rules.data} />}
        {data === undefined ? (
          <Skeleton height={60} m="md" />
        ) : (
          <>
            {!data.live && (
              <p className={css.ended}>
                <IconPlayerPause size={15} aria-hidden /> {t('alerts.ended')}
              </p>
            )}
            {data.items.length === 0 ? (
              <EmptyState
                icon={<IconBellCheck size={26} />}
                title={t(data.live ? 'alerts.none' : 'alerts.noneEnded')}
              >
                {data.live && t('alerts.noneText')}
              </EmptyState>
            ) : (
              <AlertList alerts={data.items.filter(fits)} now={now} live={data.live} />
            )}
            {data.left_out > 0 && (
              <p className={`${words.dim} ${shared.small}`}>
                {t('alerts.leftOut', { n: count(data.left_out) })}
              </p>
            )}
            {data.resolved.length > 0 && (
              <AlertList alerts={data.resolved.filter(fits)} now={now} live={data.live} />
            )}
          </>
        )}
        <div className={`${layout.tabs} ${css.tabs}`} role="tablist" aria-label={t('alerts.more')}>
          {TABS.map((name) => (
            <button
              key={name}
              type="button"
              role="tab"
              aria-selected={name === chosen}
              className={`${layout.tab} ${css.tab}`}
              onClick={() =>
                change((before) => withSettings(before, { tab: name === 'rules' ? undefined : name }))
              }
              data-testid={`alerts-tab-${name}`}
            >
              {t(`alerts.tab.${name}`)}{' '}
              <span className={`${words.num} ${words.dim}`}>{numbers[name] ?? ''}</span>
            </button>
          ))}
        </div>
        <div role="tabpanel">
          {chosen === 'rules' &&
            (rules.data ? <RulesTab rules={rules.data} search={search} /> : <Wait error={rules.error} />)}
          {chosen === 'history' &&
            (history.data ? (
              <HistoryTab {...history.data} search={search} />
            ) : (
              <Wait error={history.error} />
            ))}
          {chosen === 'silences' &&
            (silences.data ? <SilencesTab items={silences.data.items} /> : <Wait error={silences.error} />)}
          {chosen === 'channels' &&
            (channels.data ? <ChannelsTab channels={channels.data} /> : <Wait error={channels.error} />)}
        </div>
        {url.settings?.profile !== undefined && <ProfileDrawer id={url.settings.profile} />}
        {rule !== undefined && url.settings?.profile === undefined && (
          <RuleDrawer
            rule={rule}
            alerts={(data?.items ?? []).filter((alert) => alert.rule === rule.name)}
            events={(history.data?.items ?? []).filter((event) => event.rule === rule.name)}
            now={now}
            live={data?.live ?? false}
          />
        )}
      </div>
    </>
  );
}

function Wait({ error }: { error: Error | null }) {
  return error === null ? <Skeleton height={120} /> : <ErrorPanel error={error} />;
}

/** Adds a channel, to which alerts are sent. */
function NotifyButton({ kinds }: { kinds: readonly string[] }) {
  const { t } = useTranslation();
  const actions = useAlertActions();
  const [url, change] = useSessionUrl();
  const [isSaved, setSaved] = useState(false);
  const add = async () => {
    setSaved(false);
    if (!(await actions.addChannel(kinds))) return;
    setSaved(true);
    change((before) => withSettings(before, { tab: 'channels' }), { replace: true });
  };
  useFormLink(true, () => void add());
  return (
    <>
      <span role="status" className={`${words.dim} ${shared.small}`}>
        {isSaved && url.settings?.tab === 'channels' && t('alerts.saved')}
      </span>
      <Button
        size="xs"
        leftSection={<IconBellPlus size={15} />}
        onClick={() => void add()}
        data-testid="alerts-notify"
      >
        {t('alerts.notify')}
      </Button>
    </>
  );
}
