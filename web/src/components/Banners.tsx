import { Anchor } from '@mantine/core';
import {
  IconAlertTriangle,
  IconCamera,
  IconClockExclamation,
  IconFilterX,
  IconHelpCircle,
  IconInfoCircle,
} from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Dropped, Summary } from '../api/types';
import { count, duration } from '../lib/format';
import type { Tone } from '../theme/tokens';

/** Batches may wait this long before it is worth a word. ns. */
const BEHIND = 5e9;
/** The reason of losses that cost no task, only spans inside of some. */
const SPANS_LOST = 'profile_events_dropped';

/** What the numbers on the page lack, and why. Never hidden: only the details fold. */
export function Banners({ summary }: { summary: Summary }) {
  const { t, i18n } = useTranslation();
  const { dropped, ingest } = summary;
  // What is wrong now comes before what is so by nature.
  const away = (code: string) => code.endsWith('_unreachable');
  const codes = [...summary.cannot_see.filter(away), ...summary.cannot_see.filter((code) => !away(code))];
  const unknown = Object.entries(ingest?.unknown ?? {});
  const explain = (code: string) =>
    i18n.exists(`banner.codes.${code}`) ? t(`banner.codes.${code}` as 'banner.codes.profile_spans') : code;
  const lost = (dropped?.by ?? []).filter((drop) => drop.reason !== SPANS_LOST);
  const lostSpans = (dropped?.by ?? []).filter((drop) => drop.reason === SPANS_LOST);
  return (
    <div className="rs-banners">
      {ingest?.error && (
        <Banner testId="banner-ingest-error" tone="bad" icon={<IconAlertTriangle size={16} />}>
          {t('banner.ingestError', { error: ingest.error })}
        </Banner>
      )}
      {ingest !== null && (ingest.behind_ns ?? 0) > BEHIND && (
        <Banner testId="banner-behind" tone="waiting" icon={<IconClockExclamation size={16} />}>
          {t('banner.behind', { age: duration(ingest.behind_ns), n: count(ingest.pending_batches) })}
        </Banner>
      )}
      {(dropped?.total ?? 0) > 0 && (
        <Banner
          testId="banner-dropped"
          tone="waiting"
          icon={<IconAlertTriangle size={16} />}
          details={<Losses by={lost} />}
        >
          {t('banner.dropped', { n: count(dropped?.total) })}
        </Banner>
      )}
      {(dropped?.unresolved_attempts ?? 0) > 0 && (
        <Banner testId="banner-unresolved" tone="waiting" icon={<IconHelpCircle size={16} />}>
          {t('banner.unresolved', { n: count(dropped?.unresolved_attempts) })}
        </Banner>
      )}
      {ingest !== null && ingest.rejected_batches > 0 && (
        <Banner testId="banner-rejected" tone="waiting" icon={<IconFilterX size={16} />}>
          {t('banner.rejected', { n: count(ingest.rejected_batches) })}
        </Banner>
      )}
      {unknown.length > 0 && (
        <Banner testId="banner-unknown" tone="quiet" icon={<IconHelpCircle size={16} />}>
          {t('banner.unknown', {
            what: unknown.map(([what, number]) => `${what} (${count(number)})`).join(', '),
          })}
        </Banner>
      )}
      {(dropped?.spans ?? 0) > 0 && (
        <Banner
          testId="banner-spans"
          tone="quiet"
          mild
          icon={<IconInfoCircle size={16} />}
          details={<Losses by={lostSpans} />}
        >
          {t('banner.droppedSpans', { n: count(dropped?.spans) })}
        </Banner>
      )}
      {codes.length > 0 && (
        <Banner
          testId="banner-cannot-see"
          tone={codes.some(away) ? 'waiting' : 'busy'}
          icon={<IconCamera size={16} />}
          details={
            <ul className="rs-plain-list">
              {codes.map((code) => (
                <li key={code} data-code={code}>
                  {explain(code)}
                </li>
              ))}
            </ul>
          }
        >
          {summary.recording === 'snapshot' && !codes.some(away)
            ? t('banner.snapshot')
            : `${t('banner.cannotSee')}: ${explain(codes[0] ?? '')}`}
        </Banner>
      )}
    </div>
  );
}

function Losses({ by }: { by: Dropped['by'] }) {
  const { t, i18n } = useTranslation();
  return (
    <table className="rs-plain-table">
      <thead>
        <tr>
          <th>{t('banner.source')}</th>
          <th>{t('banner.reason')}</th>
          <th data-align="right">{t('banner.count')}</th>
        </tr>
      </thead>
      <tbody>
        {by.map((drop) => (
          <tr key={`${drop.source}|${drop.reason}`}>
            <td className="rs-mono rs-break">{drop.source}</td>
            <td className="rs-break" title={drop.reason}>
              {i18n.exists(`banner.reasons.${drop.reason}`)
                ? t(`banner.reasons.${drop.reason}` as 'banner.reasons.truncated')
                : drop.reason}
            </td>
            <td data-align="right" className="rs-num">
              {count(drop.count)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Banner(props: {
  testId: string;
  tone: Tone;
  /** Worth knowing, no reason to worry. */
  mild?: boolean;
  icon: ReactNode;
  children: ReactNode;
  details?: ReactNode;
}) {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  return (
    <div
      className="rs-banner"
      data-testid={props.testId}
      data-mild={props.mild || undefined}
      style={{ '--rs-banner': `var(--rs-tone-${props.tone})` } as React.CSSProperties}
      role="status"
    >
      <span className="rs-banner-icon">{props.icon}</span>
      <div className="rs-banner-text">
        <span>{props.children}</span>{' '}
        {props.details && (
          <Anchor
            component="button"
            type="button"
            size={props.mild ? 'xs' : 'sm'}
            onClick={() => setOpen(!open)}
            aria-expanded={open}
          >
            {t(open ? 'common.hideDetails' : 'common.details')}
          </Anchor>
        )}
        {open && <div className="rs-banner-details">{props.details}</div>}
      </div>
    </div>
  );
}
