import { Anchor } from '@mantine/core';
import {
  IconAlertTriangle,
  IconCamera,
  IconClockExclamation,
  IconFilterX,
  IconGauge,
  IconHelpCircle,
  IconInfoCircle,
  IconRoute,
} from '@tabler/icons-react';
import type { TFunction } from 'i18next';
import { type ReactNode, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Dropped, Lanes, Summary, Tracing } from '../api/types';
import { clockTime, count, duration, shortId, time } from '../base/format';
import type { Tone } from '../base/tokens';
import { laneReason } from '../ui/Lane';
import css from './Banners.module.css';

/** Batches may wait this long before it is worth a word. ns. */
const BEHIND = 5e9;
/** A definition that comes later than its attempt mostly comes within this, ms. */
const ON_ITS_WAY = 10_000;
/** The reason of losses that cost no task, only spans inside of some. */
const SPANS_LOST = 'profile_events_dropped';

/** What the numbers on the page lack, and why. Never hidden: only the details fold. */
export function Banners({ summary }: { summary: Summary }) {
  const { t, i18n } = useTranslation();
  const { dropped, ingest, lanes } = summary;
  // What is wrong now comes before what is so by nature.
  const away = (code: string) => code.endsWith('_unreachable');
  const codes = [...summary.cannot_see.filter(away), ...summary.cannot_see.filter((code) => !away(code))];
  // A snapshot has no events, and says so itself.
  const mentionLanes =
    lanes !== null && summary.recording !== 'snapshot' && (lanes.json > 0 || lanes.none > 0);
  const nodes = lanes === null ? 0 : lanes.fast + lanes.json + lanes.none + lanes.unknown;
  const unknown = Object.entries(ingest?.unknown ?? {});
  const explain = (code: string) =>
    i18n.exists(`banner.codes.${code}`) ? t(`banner.codes.${code}` as 'banner.codes.profile_spans') : code;
  const lasts = useLasts((dropped?.unresolved_attempts ?? 0) > 0);
  const isQuiet = Date.now() - (summary.last_ns ?? 0) / 1e6 > ON_ITS_WAY;
  const unresolved = (dropped?.unresolved_attempts ?? 0) > 0 && (lasts || isQuiet);
  const { tasks_without_events: silenced, without_events: silencedBy } = summary.tracing;
  const lastsSilenced = useLasts(silenced > 0);
  const lost = (dropped?.by ?? []).filter((drop) => drop.reason !== SPANS_LOST);
  const lostSpans = (dropped?.by ?? []).filter((drop) => drop.reason === SPANS_LOST);
  return (
    <div className={css.banners}>
      {ingest?.error && (
        <Banner testId="banner-ingest-error" tone="bad" icon={<IconAlertTriangle size={16} />}>
          {t('banner.ingestError', { error: `${ingest.error.message} ${ingest.error.remedy}` })}
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
          tone={isRepaired(dropped) ? 'quiet' : 'waiting'}
          icon={isRepaired(dropped) ? <IconInfoCircle size={16} /> : <IconAlertTriangle size={16} />}
          details={<Losses by={lost} />}
        >
          {t('banner.dropped', { n: count(dropped?.total) })} {repaired(dropped, t)}
        </Banner>
      )}
      {unresolved && (
        <Banner testId="banner-unresolved" tone="waiting" icon={<IconHelpCircle size={16} />}>
          {t('banner.unresolved', { n: count(dropped?.unresolved_attempts) })}
        </Banner>
      )}
      {silenced > 0 && (lastsSilenced || isQuiet) && (
        <Banner
          testId="banner-without-events"
          tone="waiting"
          icon={<IconHelpCircle size={16} />}
          details={
            <>
              <p>{t('banner.withoutEventsWhy')}</p>
              <ul className={css.plainList}>
                {silencedBy.map((one) => (
                  <li key={one.class_name} className="rs-break">
                    {one.class_name ?? t('banner.withoutEventsFunctions')} ({count(one.tasks)})
                  </li>
                ))}
              </ul>
            </>
          }
        >
          {t('banner.withoutEvents', { n: count(silenced) })}
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
      {lanes !== null && mentionLanes && (
        <Banner
          testId="banner-lanes"
          tone="quiet"
          mild
          icon={<IconGauge size={16} />}
          details={<LaneReasons lanes={lanes} />}
        >
          {lanes.json > 0 && t('banner.lanes', { n: count(lanes.json), all: count(nodes) })}{' '}
          {lanes.none > 0 && t('banner.silent', { n: count(lanes.none), all: count(nodes) })}
        </Banner>
      )}
      <TracingBanner tracing={summary.tracing} events={summary.recording !== 'snapshot'} />
      {codes.length > 0 && (
        <Banner
          testId="banner-cannot-see"
          tone={codes.some(away) ? 'waiting' : 'busy'}
          icon={<IconCamera size={16} />}
          details={
            <ul className={css.plainList}>
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

/** Whether something has been so for as long as what is on its way takes. */
function useLasts(is: boolean): boolean {
  const [lasts, setLasts] = useState(false);
  useEffect(() => {
    setLasts(false);
    if (!is) return;
    const timer = setTimeout(() => setLasts(true), ON_ITS_WAY);
    return () => clearTimeout(timer);
  }, [is]);
  return lasts;
}

/** Processes whose objects and waits are not on record, and why. */
function TracingBanner({ tracing, events }: { tracing: Tracing; events: boolean }) {
  const { t } = useTranslation();
  const all = tracing.traced + tracing.untraced;
  if (!events || (tracing.untraced === 0 && tracing.said.length === 0)) return null;
  return (
    <Banner
      testId="banner-tracing"
      tone="quiet"
      mild
      icon={<IconRoute size={16} />}
      details={
        <ul className={css.plainList}>
          {tracing.untraced > 0 && <li>{t('banner.untracedWhy')}</li>}
          {tracing.said.map((said) => (
            <li key={said.text} className="rs-break">
              {said.text} ({count(said.workers)})
            </li>
          ))}
        </ul>
      }
    >
      {tracing.untraced === 0
        ? t('banner.tracerSaid')
        : tracing.traced === 0
          ? t('banner.untracedAll')
          : t('banner.untraced', { n: count(tracing.untraced), all: count(all) })}
    </Banner>
  );
}

/** Whether all losses were followed by a whole reading of the tasks from Ray’s control store. */
function isRepaired(dropped: Dropped | null): boolean {
  return dropped !== null && dropped.repaired_total >= dropped.total && !dropped.repaired_partly;
}

/** What was done about the losses. */
function repaired(dropped: Dropped | null, t: TFunction): string {
  if (dropped === null || dropped.repaired_ns === null || dropped.repaired_total < dropped.total)
    return t('banner.notRepaired');
  const at = time(dropped.repaired_ns);
  return t(dropped.repaired_partly ? 'banner.repairedPartly' : 'banner.repaired', { at });
}

/** Why some nodes do not send in the fast form. */
function LaneReasons({ lanes }: { lanes: Lanes }) {
  const { t } = useTranslation();
  return (
    <table className="rs-plain-table">
      <thead>
        <tr>
          <th>{t('banner.reason')}</th>
          <th>{t('banner.exampleNode')}</th>
          <th data-align="right">{t('banner.nodes')}</th>
        </tr>
      </thead>
      <tbody>
        {lanes.reasons.map((found) => (
          <tr key={`${found.lane}|${found.code}|${found.reason}`}>
            <td className="rs-break">{laneReason(t, found.code, found.reason)}</td>
            <td className="rs-mono">{found.address ?? shortId(found.node_id)}</td>
            <td data-align="right" className="rs-num">
              {count(found.nodes)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Losses({ by }: { by: Dropped['by'] }) {
  const { t, i18n } = useTranslation();
  const timed = by.some((drop) => drop.first_ns !== null);
  return (
    <table className="rs-plain-table">
      <thead>
        <tr>
          <th>{t('banner.source')}</th>
          <th>{t('banner.reason')}</th>
          {timed && <th>{t('banner.when')}</th>}
          <th data-align="right">{t('banner.count')}</th>
        </tr>
      </thead>
      <tbody>
        {by.map((drop) => (
          <tr key={`${drop.source}|${drop.reason}|${drop.event_type}`}>
            <td className="rs-mono rs-break">{drop.source}</td>
            <td className="rs-break" title={drop.reason}>
              {i18n.exists(`banner.reasons.${drop.reason}`)
                ? t(`banner.reasons.${drop.reason}` as 'banner.reasons.truncated')
                : drop.reason}
              {drop.event_type !== '' && <span className="rs-mono rs-dim"> {drop.event_type}</span>}
            </td>
            {timed && (
              <td className="rs-num">
                {drop.first_ns !== null && drop.last_ns !== null
                  ? `${clockTime(drop.first_ns)} – ${clockTime(drop.last_ns)}`
                  : '–'}
              </td>
            )}
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
      className={css.banner}
      data-testid={props.testId}
      data-mild={props.mild || undefined}
      style={{ '--rs-banner': `var(--rs-tone-${props.tone})` } as React.CSSProperties}
      role="status"
    >
      <span className={css.icon}>{props.icon}</span>
      <div className={css.text}>
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
        {open && <div className={css.details}>{props.details}</div>}
      </div>
    </div>
  );
}
