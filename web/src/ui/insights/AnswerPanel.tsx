import { useTranslation } from 'react-i18next';
import { isMissing } from '../../api/client';
import { useCriticalPath } from '../../api/criticalPath';
import { useInsights } from '../../api/insights';
import type { FindingItem, InsightsAnswer } from '../../api/schema';
import { clockTime, duration, percent } from '../../base/format';
import { PHASE_STATES, type SchedulingPhase } from '../../base/scheduling';
import { stateColor } from '../../base/tokens';
import { slowestOf, toView, withFilter, withSettings } from '../../base/url';
import { Severity } from '../alerts/Severity';
import { severityTone } from '../alerts/severity';
import { usePathPhase } from '../criticalPath';
import { ErrorPanel } from '../ErrorPanel';
import { useJobName } from '../JobName';
import { Link } from '../Link';
import { Panel, PanelBody, PanelText } from '../panels/Panel';
import words from '../theme/words.module.css';
import { usePunctuation } from '../usePunctuation';
import { useSessionUrl } from '../useUrl';
import css from './AnswerPanel.module.css';
import { type Cause, findingsOf } from './answer';
import { findingKey, toFinding } from './findings';
import { useFindingTexts } from './useFindingTexts';
import { useVerdict } from './useVerdict';
import { VerdictActor } from './VerdictActor';

/** Number of causes with a bar, and of findings. */
const BARS = 5;
const FINDINGS = 4;

/**
 * Why a job (or the longest one) took its time: a sentence, the parts of the critical path, each with its
 * findings, and the other findings.
 */
export function AnswerPanel({ job: of }: { job?: string }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const { error, ...query } = useInsights(url.session, of, { isAside: true, enabled: true });
  const insights = query.isPlaceholderData ? undefined : query.data;
  // The path is known before the insights. Once they are, all figures are theirs.
  const path = useCriticalPath(url.session, of, insights === undefined);
  const found = insights ?? path.data;
  const jobName = useJobName(found?.job_id);
  const lasted = insights?.calibration.recorded_ns ?? path.data?.duration_ns;
  return (
    <Panel
      title={
        found?.job_id == null || lasted === undefined
          ? t('nav.insights')
          : t(found.so_far ? 'overview.whySoFar' : 'overview.why', {
              job: jobName(found.job_id),
              lasted: duration(lasted),
            })
      }
      note={insights?.so_far ? t('insights.asOf', { time: clockTime(insights.end_ns) }) : undefined}
      to={toView(url, 'insights', found?.job_id ? { job_id: found.job_id } : {})}
      testId="panel-insights"
      wide
    >
      <PanelBody
        data={found}
        error={error ?? path.error}
        missing={t(error === null ? 'overview.noTasks' : 'insights.noneText')}
      >
        {({ causes, job_id: job }) => (
          <>
            <Answer causes={causes} whole={lasted ?? 0} job={job} insights={insights} />
            {insights === undefined &&
              // The insights are older than the path if they lack tasks.
              (error === null || isMissing(error) ? (
                <PanelText busy>{t('overview.loading')}</PanelText>
              ) : (
                <ErrorPanel error={error} />
              ))}
          </>
        )}
      </PanelBody>
    </Panel>
  );
}

function Answer(props: {
  causes: readonly Cause[];
  whole: number;
  job: string | null;
  insights: InsightsAnswer | undefined;
}) {
  const { insights, job } = props;
  const { t } = useTranslation();
  const causes = props.causes.slice(0, BARS);
  const whole = Math.max(1, props.whole);
  const rest = whole - causes.reduce((sum, { total_ns }) => sum + total_ns, 0);
  const { of, others } = findingsOf(causes, insights?.findings.slice(0, FINDINGS) ?? []);
  return (
    <div className={css.body} data-alone={(insights !== undefined && of.size === 0) || undefined}>
      {insights !== undefined && <Sentence insights={insights} />}
      <div>
        {causes.map((cause) => (
          <div key={`${cause.phase} ${cause.is_driver} ${cause.name}`} className={css.part}>
            <Bar cause={cause} whole={whole} job={job} />
            <div>
              {of.get(cause)?.map((finding, at) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: two may have the same name.
                <FindingLine key={`${findingKey(finding)} ${at}`} finding={finding} job={job} />
              ))}
            </div>
          </div>
        ))}
        {rest > whole * 0.005 && (
          <p className={`${css.rest} ${words.dim}`}>
            {t('overview.whyRest', { rest: duration(rest), share: percent(rest / whole) })}
          </p>
        )}
      </div>
      {others.length > 0 && (
        <div>
          {others.map((finding, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: two may have the same name.
            <FindingLine key={`${findingKey(finding)} ${at}`} finding={finding} job={job} withPlace />
          ))}
        </div>
      )}
      {insights?.findings.length === 0 && insights.withheld?.code !== 'too_large' && (
        <p className={words.dim}>{t('insights.findings.noneText')}</p>
      )}
    </div>
  );
}

function Sentence({ insights }: { insights: InsightsAnswer }) {
  const verdict = useVerdict(insights);
  const { gap } = usePunctuation();
  return (
    verdict !== null && (
      <p>
        <b>{verdict.bound}</b>
        {gap}
        {verdict.remedy} <VerdictActor insights={insights} />
      </p>
    )
  );
}

/**
 * A bar. It links to the slowest attempts of a function that ran or was suspended, otherwise to the path on the
 * Gantt chart.
 */
function Bar({ cause, whole, job }: { cause: Cause; whole: number; job: string | null }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const phaseName = usePathPhase();
  const { name, phase, total_ns: total, is_driver: isDriver, functions } = cause;
  const who = isDriver ? t('task.driver') : name || t('gantt.noFunction');
  // Each function that ran or was suspended is a cause of its own.
  const ofFunction = phase === 'executing' || phase === 'awaiting';
  const to =
    ofFunction && !isDriver && name
      ? withFilter(slowestOf(url, { func_name: name, type: null }), 'job_id', job ?? undefined)
      : withSettings(toView(url, 'gantt', job ? { job_id: job } : {}), { path: '1' });
  return (
    <Link to={to} className={css.cause} testId="why-part">
      <span className={css.name} data-phase={phase}>
        {ofFunction ? who : phaseName(phase)}
      </span>
      <span className={`${words.dim} ${words.ellipsis}`}>
        {ofFunction
          ? phaseName(phase)
          : functions > 1
            ? t('overview.whyMost', { name: who, more: functions - 1 })
            : who}
      </span>
      <span className={css.track}>
        <span
          className={css.bar}
          style={{
            width: `${(total / whole) * 100}%`,
            background: stateColor(PHASE_STATES[phase as SchedulingPhase] ?? 'CUT_OFF'),
          }}
        />
      </span>
      <span className={`${css.time} ${words.num}`}>
        {duration(total)} · {percent(total / whole)}%
      </span>
    </Link>
  );
}

function FindingLine(props: { finding: FindingItem; job: string | null; withPlace?: true }) {
  const { finding, job } = props;
  const [url] = useSessionUrl();
  const texts = useFindingTexts();
  return (
    <div className={css.finding} data-tone={severityTone(finding.severity)}>
      <Severity severity={finding.severity} />
      <span className={words.ellipsis}>
        <Link
          to={toFinding(url, job ?? '', finding)}
          className={`${words.link} ${words.name}`}
          testId="panel-finding"
        >
          {texts.title(finding.kind, finding.title)}
        </Link>{' '}
        {props.withPlace && <span className={words.mono}>{texts.place(finding)}</span>}
      </span>
      <span className={words.num} title={texts.gain(finding)}>
        {texts.gain(finding, true)}
      </span>
    </div>
  );
}
