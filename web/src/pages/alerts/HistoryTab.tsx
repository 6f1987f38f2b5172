import { IconArrowRight, IconHistory } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { AlertEvent } from '../../api/schema';
import { count, short } from '../../base/format';
import { severityTone } from '../../ui/alerts/severity';
import { useAnnotations } from '../../ui/alerts/useAnnotations';
import { EmptyState } from '../../ui/EmptyState';
import { Time } from '../../ui/Time';
import plain from '../../ui/theme/plainTable.module.css';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { AlertProfile } from './AlertProfile';
import { AlertSparkline } from './AlertSparkline';
import shared from './alerts.module.css';
import css from './HistoryTab.module.css';

/** State changes of alerts, newest first, each with the values that caused it. */
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
      <table className={plain.table} data-testid="alert-history">
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
                <div className={`${words.dim} ${shared.small}`}>{annotations(event.annotations).summary}</div>
                <AlertProfile profile={event.profile} />
              </td>
              <td>
                <span className={`${words.state} ${shared.state} ${css.went}`}>
                  <span className={words.dim}>{t(`alerts.state.${event.before}`)}</span>
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
                        value: short(event.value),
                        threshold: short(event.threshold),
                      })}
                    />
                    <span className={`${words.num} ${shared.small}`}>{short(event.value)}</span>
                  </span>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {props.total > props.items.length && (
        <p className={`${words.dim} ${shared.small}`}>
          {t('alerts.olderLeftOut', { n: count(props.total - props.items.length) })}
        </p>
      )}
    </div>
  );
}
