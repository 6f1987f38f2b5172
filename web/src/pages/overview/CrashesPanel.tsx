import { useTranslation } from 'react-i18next';
import type { CrashedWorker, CrashesAnswer } from '../../api/schema';
import { docsUrl } from '../../base/docsUrl';
import { count } from '../../base/format';
import { REPORT } from '../../base/report';
import type { Tone } from '../../base/tokens';
import { toItem, toView, withSettings } from '../../base/url';
import { useCauseText } from '../../ui/DeathCause';
import { Dot } from '../../ui/Dot';
import { Link } from '../../ui/Link';
import { useNodeTitle } from '../../ui/NodeLabel';
import { Panel, PanelText } from '../../ui/panels/Panel';
import { MAX_LINES } from '../../ui/panels/PanelLine';
import { Time } from '../../ui/Time';
import words from '../../ui/theme/words.module.css';
import { usePunctuation } from '../../ui/usePunctuation';
import { useSessionUrl } from '../../ui/useUrl';
import css from './CrashesPanel.module.css';
import { useCrashes } from './useOverview';

const TONES: Record<CrashedWorker['harm']['harm'], Tone> = {
  harmed: 'bad',
  unknown: 'waiting',
  none: 'quiet',
};
/** The section that explains the race between Ray's processes, and what each verdict means. */
const DOCS = 'reference/faults.md#workers-that-crash-as-they-exit';

/**
 * Crashed workers, whether the crash did harm, and their last lines. The panel is hidden if there are none.
 */
export function CrashesPanel({ live }: { live: boolean }) {
  const { t, i18n } = useTranslation();
  const [url] = useSessionUrl();
  const crashes = useCrashes(url.session, live);
  if (crashes === undefined || crashes.total === 0) return null;
  const shown = crashes.items.slice(0, MAX_LINES);
  return (
    <Panel
      title={t('overview.crashes.title')}
      note={<Numbers crashes={crashes} />}
      testId="panel-crashes"
      wide
    >
      {crashes.in_race > 0 && (
        <PanelText>
          {t('overview.crashes.race', { n: count(crashes.in_race) })}{' '}
          {REPORT === null && (
            <a className={words.link} href={docsUrl(DOCS, i18n.language)}>
              {t('overview.crashes.docs')}
            </a>
          )}
        </PanelText>
      )}
      <ul className={css.crashes}>
        {shown.map((crash) => (
          <Crash key={crash.worker_id} crash={crash} />
        ))}
      </ul>
      {crashes.total > shown.length && (
        <PanelText>{t('overview.crashes.more', { n: count(crashes.total - shown.length) })}</PanelText>
      )}
    </Panel>
  );
}

function Numbers({ crashes }: { crashes: CrashesAnswer }) {
  const { t } = useTranslation();
  return t('overview.crashes.of', { total: count(crashes.total), workers: count(crashes.workers) });
}

function Crash({ crash }: { crash: CrashedWorker }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const harm = useHarmText();
  const causeText = useCauseText();
  const nodeTitle = useNodeTitle();
  const { gap } = usePunctuation();
  const name = crash.actor_name ?? crash.actor_class ?? crash.function;
  return (
    <li data-testid="crash" data-harm={crash.harm.harm}>
      <div className={css.head}>
        <Dot color={`var(--rs-tone-${TONES[crash.harm.harm]})`} />
        <span className={`${words.dim} ${css.when}`}>
          <Time ns={crash.end_ns} />
        </span>
        <span className={words.breaks}>
          <Link to={toItem(url, 'workers', crash.worker_id)} className={`${words.link} ${words.name}`}>
            {crash.worker_type === 'DRIVER'
              ? t('stack.driverOf', { script: crash.script ?? '' })
              : (name ?? t('entity.ranNothing'))}
          </Link>{' '}
          <span className={words.dim}>
            {[
              crash.signal,
              t('gantt.pid', { pid: crash.pid ?? '–' }),
              crash.node_id && nodeTitle(crash.node_id),
            ]
              .filter(Boolean)
              .join(' · ')}
          </span>{' '}
          {causeText(crash.death?.chain ?? [])}
          {gap}
          {harm(crash.harm)}
        </span>
      </div>
      {crash.lines.length > 0 && (
        <details className={css.log}>
          <summary>{t('overview.crashes.lines')}</summary>
          <pre className={`${words.mono} ${words.lines}`}>{crash.lines.join('\n')}</pre>
          {crash.file !== null && (
            <Link
              to={withSettings(toView(url, 'logs'), {
                node: crash.node_id ?? undefined,
                file: crash.file,
                line: String(crash.offset ?? 0),
              })}
              className={words.link}
            >
              {t('logs.open')}
            </Link>
          )}
        </details>
      )}
    </li>
  );
}

/** A sentence that sums up all crashes; '' if there are none. */
export function useCrashVerdict(live: boolean): string {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const crashes = useCrashes(url.session, live);
  if (crashes === undefined || crashes.total === 0) return '';
  const all = crashes.harmed === crashes.total;
  const key = crashes.harmed > 0 ? (all ? 'allHarmed' : 'harmed') : crashes.unknown > 0 ? 'unknown' : 'none';
  return t(`overview.crashes.verdict.${key}`, { n: count(crashes.total), harmed: count(crashes.harmed) });
}

/** Whether a crash did harm, in the user's language. */
function useHarmText() {
  const { t, i18n } = useTranslation();
  return ({ harm, code, number, message }: CrashedWorker['harm']) => {
    const key = `overview.crashes.harm.${harm}.${code}`;
    return i18n.exists(key) ? t(key as 'overview.crashes.harm.none.idle', { n: count(number) }) : message;
  };
}
