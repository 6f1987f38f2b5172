import { useTranslation } from 'react-i18next';
import type { ExplainedCause, InsightsAnswer } from '../../api/schema';
import { duration, percent } from '../../base/format';
import { PHASE_STATES, type SchedulingPhase } from '../../base/scheduling';
import { stateColor } from '../../base/tokens';
import { type SessionUrl, slowestOf, toView, withFilter, withSettings } from '../../base/url';
import { usePathPhase } from '../../ui/criticalPath';
import { Link } from '../../ui/Link';
import { Prose } from '../../ui/Prose';
import { Panel } from '../../ui/panels/Panel';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import css from './Causes.module.css';
import { type Part, partsOf, shadeOf } from './causes';

/** Maximum number of causes with a part of their own in the bar. */
const PARTS = 9;
/** Minimum share of a part of the bar that has a label. */
const MIN_LABEL_SHARE = 0.12;

/** A job's total time by cause. */
export function Causes({ insights }: { insights: InsightsAnswer }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const nameOf = usePartName();
  const explain = useExplanation();
  const { causes, job_id: job, calibration } = insights;
  const parts = partsOf(causes, calibration.recorded_ns, PARTS);
  if (parts.length === 0) return null;
  const path = withSettings(toView(url, 'gantt', { job_id: job }), { path: '1' });
  return (
    <Panel title={t('insights.causes.title')} note={t('insights.causes.hint')} to={path} testId="causes" wide>
      <div className={css.bar}>
        {parts.map((part) => {
          const { name, detail } = nameOf(part.cause);
          const color = shadedColor(parts, part);
          return (
            <span key={keyOf(part)} className={css.part} style={{ flexGrow: part.share, background: color }}>
              <Link
                to={part.cause === null ? path : placeOf(url, job, part.cause)}
                className={css.way}
                title={[name, detail, `${duration(part.total_ns)} (${percent(part.share)}%)`].join('\n')}
                label={`${name} ${percent(part.share)}% ${detail}`}
                testId="cause-part"
              >
                {part.share >= MIN_LABEL_SHARE && (
                  <span className={css.words}>
                    {name} {percent(part.share)}%
                  </span>
                )}
              </Link>
            </span>
          );
        })}
      </div>
      <ul className={css.legend}>
        {parts.map((part) => {
          const { name, detail } = nameOf(part.cause);
          return (
            <li key={keyOf(part)} data-testid="cause">
              <Link
                to={part.cause === null ? path : placeOf(url, job, part.cause)}
                className={css.entry}
                title={`${name} ${detail}`}
              >
                <span className={css.swatch} style={{ background: shadedColor(parts, part) }} />
                <span className={`${css.name} ${words.ellipsis}`}>
                  {name} <span className={words.dim}>{detail}</span>
                </span>
                <span className={words.num}>{duration(part.total_ns)}</span>
                <span className={`${words.num} ${words.dim}`}>{percent(part.share)}%</span>
              </Link>
            </li>
          );
        })}
      </ul>
      <ul className={css.explained}>
        {causes
          .filter(({ text }) => text !== '')
          .map((cause) => (
            <li key={`${cause.phase} ${cause.is_driver} ${cause.name}`} data-testid="cause-explained">
              <Prose text={explain(cause)} />
            </li>
          ))}
      </ul>
    </Panel>
  );
}

const keyOf = ({ cause }: Part) =>
  cause === null ? 'other' : `${cause.phase} ${cause.is_driver} ${cause.name}`;

/** The method in which Ray Train awaits its workers. */
const TRAINING = 'TrainController.run';

/** Explains one of the major causes in a sentence. */
function useExplanation(): (cause: ExplainedCause) => string {
  const { t } = useTranslation();
  return ({ phase, name, is_driver: isDriver, total_ns: total }) => {
    const isTraining = phase === 'awaiting' && name === TRAINING;
    const code = isTraining ? 'training' : phase === 'executing' && isDriver ? 'driver' : phase;
    return t(`insights.explained.${code as 'unknown'}`, {
      name: isDriver ? t('task.driver') : name || t('insights.aTask'),
      took: duration(total),
    });
  };
}

/** The name of a part of the bar, and details that are shown in muted text. */
function usePartName(): (cause: ExplainedCause | null) => { name: string; detail: string } {
  const { t } = useTranslation();
  const phaseName = usePathPhase();
  return (cause) => {
    if (cause === null) return { name: t('insights.causes.other'), detail: '' };
    const { phase, name, is_driver: isDriver, functions } = cause;
    const who = isDriver ? t('task.driver') : name || t('gantt.noFunction');
    if (phase === 'executing' || phase === 'awaiting') return { name: who, detail: phaseName(phase) };
    const detail = functions > 1 ? t('overview.whyMost', { name: who, more: functions - 1 }) : who;
    return { name: phaseName(phase), detail };
  };
}

function colorOf({ cause }: Part): string {
  return cause === null
    ? 'var(--rs-line)'
    : stateColor(PHASE_STATES[cause.phase as SchedulingPhase] ?? 'CUT_OFF');
}

const shadedColor = (parts: readonly Part[], part: Part) =>
  `color-mix(in srgb, ${colorOf(part)} ${shadeOf(parts, part, colorOf)}%, var(--rs-panel))`;

/**
 * The page for a cause: the slowest attempts of a function that executed or awaited, otherwise the path on
 * the Gantt chart.
 */
function placeOf(url: SessionUrl, job: string, cause: ExplainedCause): SessionUrl {
  if (!['executing', 'awaiting'].includes(cause.phase) || cause.is_driver || cause.name === '')
    return withSettings(toView(url, 'gantt', { job_id: job }), { path: '1' });
  return withFilter(slowestOf(url, { func_name: cause.name, type: null }), 'job_id', job);
}
