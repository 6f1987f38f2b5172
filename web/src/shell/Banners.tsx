import {
  IconAlertTriangle,
  IconCamera,
  IconClockExclamation,
  IconFilterX,
  IconGauge,
  IconHelpCircle,
  IconInfoCircle,
  IconVersions,
} from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Summary } from '../api/schema';
import { count, duration } from '../base/format';
import words from '../ui/theme/words.module.css';
import { usePunctuation } from '../ui/usePunctuation';
import { useServerMessage } from '../ui/useServerMessage';
import { Banner } from './Banner';
import css from './Banners.module.css';
import { LaneReasons } from './LaneReasons';
import { isRepaired, Losses, repaired } from './Losses';
import shared from './shell.module.css';
import { TracingBanner } from './TracingBanner';

/** Batches may wait this long before the banner mentions the delay, ns. */
const MAX_DELAY_NS = 5e9;
/** The definition of a task may arrive after its attempt, but usually does so within this time, ms. */
const USUAL_DELAY_MS = 10_000;
/** Drop reason that affects only spans inside attempts, not tasks. */
const SPANS_LOST = 'profile_events_dropped';

/** Explains what is missing from the page's numbers. Banners cannot be hidden; only their details fold. */
export function Banners({ summary }: { summary: Summary }) {
  const { t, i18n } = useTranslation();
  const { colon } = usePunctuation();
  const translate = useServerMessage();
  const { dropped, ingest, lanes } = summary;
  const failure = ingest?.error && translate(ingest.error);
  // Only the first is visible at first. Current problems come before permanent conditions.
  const urgency = (code: string) => (code === 'no_task_table' ? 2 : code.endsWith('_unreachable') ? 1 : 0);
  const codes = [...summary.cannot_see].sort((one, other) => urgency(other) - urgency(one));
  const isUrgent = codes.some((code) => urgency(code) > 0);
  // Snapshots contain no events and have their own note.
  const mentionLanes =
    lanes !== null && summary.recording !== 'snapshot' && (lanes.json > 0 || lanes.none > 0);
  const nodes = lanes === null ? 0 : lanes.fast + lanes.json + lanes.none + lanes.unknown;
  const unknown = Object.entries(ingest?.unknown ?? {});
  const explain = (code: string) =>
    i18n.exists(`banner.codes.${code}`) ? t(`banner.codes.${code}` as 'banner.codes.profile_spans') : code;
  const lasts = useLasts((dropped?.unresolved_attempts ?? 0) > 0);
  const isQuiet = Date.now() - (summary.last_ns ?? 0) / 1e6 > USUAL_DELAY_MS;
  const unresolved = (dropped?.unresolved_attempts ?? 0) > 0 && (lasts || isQuiet);
  const { tasks_without_events: silenced, without_events: silencedBy } = summary.tracing;
  const lastsSilenced = useLasts(silenced > 0);
  const lost = (dropped?.by ?? []).filter((drop) => drop.reason !== SPANS_LOST);
  const lostSpans = (dropped?.by ?? []).filter((drop) => drop.reason === SPANS_LOST);
  return (
    <div className={css.banners}>
      {failure && (
        <Banner testId="banner-ingest-error" tone="bad" icon={<IconAlertTriangle size={16} />}>
          {t('banner.ingestError', { error: failure.line })}
        </Banner>
      )}
      {ingest !== null && (ingest.behind_ns ?? 0) > MAX_DELAY_NS && (
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
              <ul className={shared.plainList}>
                {silencedBy.map((one) => (
                  <li key={one.class_name} className={words.breaks}>
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
      {(lanes?.versions ?? []).map((note) => (
        <Banner
          key={`${note.code} ${note.version}`}
          testId={`banner-${note.code}`}
          tone={note.code === 'other_agent' ? 'waiting' : 'quiet'}
          mild={note.code === 'untested_ray'}
          icon={<IconVersions size={16} />}
        >
          {t(`banner.versions.${note.code}`, {
            n: count(note.nodes ?? 0),
            version: note.version,
            ours: note.ours,
          })}
        </Banner>
      ))}
      <TracingBanner tracing={summary.tracing} events={summary.recording !== 'snapshot'} />
      {codes.length > 0 && (
        <Banner
          testId="banner-cannot-see"
          tone={isUrgent ? 'waiting' : 'busy'}
          icon={<IconCamera size={16} />}
          details={
            <ul className={shared.plainList}>
              {codes.map((code) => (
                <li key={code} data-code={code}>
                  {explain(code)}
                </li>
              ))}
            </ul>
          }
        >
          {summary.recording === 'snapshot' && !isUrgent
            ? t('banner.snapshot')
            : `${t('banner.cannotSee')}${colon}${explain(codes[0] ?? '')}`}
        </Banner>
      )}
    </div>
  );
}

/** Whether a condition has lasted longer than data is usually delayed. */
function useLasts(is: boolean): boolean {
  const [lasts, setLasts] = useState(false);
  useEffect(() => {
    setLasts(false);
    if (!is) return;
    const timer = setTimeout(() => setLasts(true), USUAL_DELAY_MS);
    return () => clearTimeout(timer);
  }, [is]);
  return lasts;
}
