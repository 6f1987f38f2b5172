import { Skeleton } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useCriticalPath } from '../api/criticalPath';
import type { Summary } from '../api/schema';
import { count, duration } from '../base/format';
import { failedOf } from '../base/progress';
import { RUNNING_STATES, stateColor } from '../base/tokens';
import { slowestOf, toggleState, toView, withFilter, withSettings } from '../base/url';
import { Dot } from '../ui/Dot';
import { useJobName } from '../ui/JobName';
import { Link } from '../ui/Link';
import { orderedStates, StackedBar, StateNumber } from '../ui/StackedBar';
import { Stat } from '../ui/Stat';
import { durationText, useSession } from '../ui/session';
import chips from '../ui/theme/chips.module.css';
import words from '../ui/theme/words.module.css';
import { useStateName } from '../ui/useStateName';
import { useSessionUrl } from '../ui/useUrl';
import css from './SummaryStrip.module.css';

/** Key figures of the session, and its states as chips that filter the tasks. */
export function SummaryStrip({ summary }: { summary: Summary | undefined }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const session = useSession(url.session);
  if (summary === undefined) {
    return (
      <div className={css.summary}>
        <div className={css.stats}>
          {[0, 1, 2, 3, 4, 5, 6].map((at) => (
            <div key={at} data-wide={at === 4 || undefined}>
              <Skeleton height={10} width={60} mt={4} mb={8} />
              <Skeleton height={18} width={80} />
            </div>
          ))}
        </div>
        <Skeleton height={6} />
        <div className={css.chips} />
      </div>
    );
  }
  const states = summary.states;
  const of = (names: readonly string[]) => names.reduce((sum, name) => sum + (states[name] ?? 0), 0);
  const running = of(RUNNING_STATES);
  const failed = failedOf(states, summary.stopped_by_libraries);
  const ended = of(['FAILED', 'FINISHED', 'CUT_OFF']);
  const waiting = Math.max(0, summary.attempts - running - ended);
  return (
    <section className={css.summary} data-testid="summary">
      <div className={css.stats}>
        <Stat
          name={t('summary.attempts')}
          value={count(summary.attempts)}
          note={t('summary.attemptsHint', { tasks: count(summary.tasks) })}
        />
        <Stat name={t('summary.running')} value={count(running)} />
        <Stat name={t('summary.waiting')} value={count(waiting)} />
        <Stat
          name={t('summary.failed')}
          value={count(failed)}
          bad={failed > 0}
          to={failed > 0 ? toView(url, 'failures') : undefined}
          note={[
            ended > 0 && failed > 0 && t('summary.failedShare', { share: percent(failed / ended) }),
            summary.stopped_by_libraries > 0 &&
              t('failures.stopped', { n: count(summary.stopped_by_libraries) }),
          ]
            .filter(Boolean)
            .join(' · ')}
        />
        <PathStats />
        <Stat name={t('summary.span')} value={session === undefined ? '–' : durationText(session)} />
      </div>
      <StackedBar states={states} stopped={summary.stopped_by_libraries} />
      <StateChips states={states} stopped={summary.stopped_by_libraries} />
    </section>
  );
}

/** The functions with the largest share of the critical path. */
function PathStats() {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const path = useCriticalPath(url.session, url.filters.job_id, true).data;
  const jobName = useJobName(path?.job_id);
  const top = path?.functions[0];
  const name = top === undefined ? '–' : top.is_driver ? t('task.driver') : top.name || t('gantt.noFunction');
  const share = top === undefined ? '–' : percent(top.share);
  const isFunction = top !== undefined && !top.is_driver && top.name !== '';
  const link = isFunction
    ? slowestOf(url, { func_name: top.name, type: null })
    : withSettings(toView(url, 'gantt', path?.job_id ? { job_id: path.job_id } : {}), { path: '1' });
  const note =
    path === undefined || top === undefined
      ? undefined
      : t(path.so_far ? 'summary.pathHintSoFar' : 'summary.pathHint', {
          name,
          job: path.job_id ? jobName(path.job_id) : '–',
          total: duration(top.total_ns),
          of: duration(path.duration_ns),
          share,
        });
  return (
    <>
      <Stat
        name={t('summary.path')}
        value={name}
        wide
        testId="summary-slowest"
        to={top === undefined ? undefined : link}
        note={note && isFunction ? `${note}\n${t('summary.slowestLink')}` : note}
      />
      <Stat name={t('summary.pathShare')} value={share} note={note} />
    </>
  );
}

const percent = (share: number) => `${(share * 100).toFixed(share >= 0.1 || share === 0 ? 0 : 1)}%`;

function StateChips({ states, stopped }: { states: Record<string, number>; stopped: number }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const name = useStateName();
  const chosen = new Set((url.filters.state ?? '').split(','));
  const shown = orderedStates(states);
  // A filtered state stays visible even if no attempt is in it any more.
  for (const state of chosen) {
    if (state !== '' && !shown.some(([known]) => known === state)) shown.push([state, 0]);
  }
  const base = url.view === 'tasks' ? url : toView(url, 'tasks');
  return (
    <div className={css.chips}>
      {shown.length === 0 && <span className={words.dim}>{t('summary.noStates')}</span>}
      {shown.map(([state, number]) => (
        <Link
          key={state}
          to={withFilter(base, 'state', toggleState(base.filters.state, state))}
          className={chips.chip}
          current={url.view === 'tasks' && chosen.has(state)}
          title={`${state}\n${t('summary.filterState', { state: name(state) })}`}
          testId={`state-chip-${state}`}
        >
          <Dot color={stateColor(state)} />
          {name(state)}
          <span className={`${words.num} ${css.chipNumber}`}>
            <StateNumber state={state} number={number} stopped={stopped} />
          </span>
        </Link>
      ))}
    </div>
  );
}
