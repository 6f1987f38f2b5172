import { useTranslation } from 'react-i18next';
import type { ClusterEvent } from '../api/jobs';
import { useAnswer } from '../api/queries';
import type { Death, DeathLink, FailureGroup, ProcessEnd } from '../api/schema';
import { bytes, count } from '../base/format';
import type { View } from '../base/url';
import { Badge } from './Badge';
import css from './DeathCause.module.css';
import { Section } from './Drawer';
import { oneLineMessage } from './eventPlace';
import { ItemLink } from './ItemLink';
import { Time } from './Time';
import words from './theme/words.module.css';
import { usePunctuation } from './usePunctuation';
import { useServerMessage } from './useServerMessage';
import { useSessionUrl } from './useUrl';

type Kind = DeathLink['kind'];

export const VIEWS: Record<Kind, View> = { worker: 'workers', actor: 'actors', node: 'nodes', job: 'jobs' };

/** Why a worker, actor, node or job ended. Hidden until it has ended. */
export function DeathCause({ kind, id, title }: { kind: Kind; id: string; title?: string }) {
  const { t } = useTranslation();
  const death = useDeath(kind, id);
  if (death === undefined) return null;
  return (
    <Section
      title={title ?? t('death.title')}
      testId="death-cause"
      right={death.is_expected && <Badge>{t('death.expected')}</Badge>}
    >
      <DeathSteps death={death} />
    </Section>
  );
}

/** The cause of a death; undefined until it has ended. */
export function useDeath(kind: Kind, id: string): Death | undefined {
  const [url] = useSessionUrl();
  return useAnswer('/deaths', { kind, id, session: url.session }).data?.items[0];
}

/** Steps to a cause, a sentence each. */
export function useCauseText(): (links: DeathLink[]) => string {
  const translate = useServerMessage();
  const { gap } = usePunctuation();
  return (links) =>
    links
      .map(({ code, message, params }) => translate({ code: `death_${code}`, message, params }).message)
      .join(gap);
}

/** What happened in an event, in one line. If the cause of an end is known, that is more than Ray's message. */
export function useEventText(): (event: ClusterEvent) => string {
  const causeText = useCauseText();
  return (event) => (event.causes.length === 0 ? oneLineMessage(event) : causeText(event.causes));
}

/** The error of a group of failures in one line. If the newest was lost with a worker, this is why that died. */
export function useFailureText(): (group: FailureGroup) => string {
  const causeText = useCauseText();
  const { t } = useTranslation();
  return ({ causes, attempts, message, error_type }) => {
    const text = causeText(causes);
    if (text === '') return message ?? error_type ?? '';
    return attempts > 1 ? t('death.newest', { text }) : text;
  };
}

/** Why the worker, actor, node or job of an event ended. Hidden for other events. */
export function EventCause({ event }: { event: ClusterEvent }) {
  return event.ended === null ? null : <DeathCause {...event.ended} />;
}

/** The steps to the fact that explains a death, or the possible causes. */
export function DeathSteps({ death }: { death: Death }) {
  const { t } = useTranslation();
  const translate = useServerMessage();
  const causeText = useCauseText();
  const text = (prefix: string, { code, message }: { code: string; message: string }) =>
    translate({ code: `${prefix}_${code}`, message }).message;
  return (
    <>
      <ol className={css.chain}>
        {death.chain.map((link, at) => (
          <li key={`${link.kind} ${link.id} ${link.code}`} data-code={link.code}>
            <span>{causeText([link])}</span>{' '}
            <span className={words.dim}>
              {link.time_ns !== null && (
                <>
                  <Time ns={link.time_ns} exact /> ·{' '}
                </>
              )}
              {t(`death.sources.${link.source}`)}
            </span>{' '}
            {link.id !== (death.chain[at - 1]?.id ?? death.id) && (
              <ItemLink view={VIEWS[link.kind]} id={link.id} />
            )}
          </li>
        ))}
      </ol>
      {death.cause === 'unknown' && (
        <>
          <p className={words.line}>
            {t(death.candidates.length === 1 ? 'death.unknownOne' : 'death.unknown')}
          </p>
          <ul className={css.candidates}>
            {death.candidates.map((one) => (
              <li key={one.code}>{text('death_maybe', one)}</li>
            ))}
          </ul>
          {death.missing !== null && (
            <p className={`${words.line} ${words.dim}`}>{text('death_missing', death.missing)}</p>
          )}
        </>
      )}
      {death.memory_bytes !== null && (
        <p className={words.line} data-testid="death-memory">
          {t('death.held', { used: bytes(death.memory_bytes) })}{' '}
          <span className={words.dim}>{t('death.sources.ray')}</span>
        </p>
      )}
      {death.process !== null && <LastSeen of={death.process} />}
      {death.ray !== null && (
        <details className={css.ray}>
          <summary>{t('death.ray')}</summary>
          <p className={words.breaks}>{death.ray}</p>
        </details>
      )}
    </>
  );
}

/** The last measurements of the process and its node before the end. */
function LastSeen({ of }: { of: ProcessEnd }) {
  const { t } = useTranslation();
  const parts = [
    of.rss_bytes !== null && t('death.rss', { used: bytes(of.rss_bytes) }),
    of.cgroup_limit !== null &&
      t('death.cgroup', { used: bytes(of.cgroup_used), limit: bytes(of.cgroup_limit) }),
    of.memory_available !== null &&
      t('death.memory', { free: bytes(of.memory_available), total: bytes(of.memory_total) }),
    of.disk_free !== null && t('death.disk', { free: bytes(of.disk_free) }),
    of.fds !== null && t('death.fds', { n: count(of.fds) }),
  ].filter((part) => part !== false);
  if (parts.length === 0) return null;
  return (
    <p className={`${words.line} ${words.dim}`} data-testid="death-last-seen">
      {t('death.lastSeen')} {parts.join(' · ')}
    </p>
  );
}
