import { useTranslation } from 'react-i18next';
import type { AttemptDetail, PendingItem, TaskDetail } from '../../api/schema';
import { count } from '../../base/format';
import { DeathCause } from '../../ui/DeathCause';
import { Section } from '../../ui/Drawer';
import { FunctionLines, LinesSection, useLines } from '../../ui/HotLines';
import { Link } from '../../ui/Link';
import { LogPanel } from '../../ui/logs/LogPanel';
import { Profile } from '../../ui/Profile';
import { TaskState } from '../../ui/TaskState';
import { Time } from '../../ui/Time';
import { isDriver } from '../../ui/taskColumns';
import plain from '../../ui/theme/plainTable.module.css';
import words from '../../ui/theme/words.module.css';
import { useStateName } from '../../ui/useStateName';
import { useSessionUrl } from '../../ui/useUrl';
import { isEmpty, parse } from '../../ui/Value';
import { WhyPending } from '../../ui/WhyPending';
import { Annotations } from './Annotations';
import { AttemptError } from './AttemptError';
import { AttemptIdentity } from './AttemptIdentity';
import css from './AttemptView.module.css';
import { CallPath } from './CallPath';
import { DataFlow } from './DataFlow';
import { MissingArguments } from './MissingArguments';
import { Scheduling } from './Scheduling';
import { SpanBars } from './SpanBars';
import { TaskChildren } from './TaskChildren';
import { Waits } from './Waits';

/** Maximum number of spans that are drawn. The API returns more of them, and the total number. */
const SHOWN = 100;

/** An attempt in full: why it waits or failed, its timeline, its data flow and where it ran. */
export function AttemptView({ task, attempt }: { task: TaskDetail; attempt: AttemptDetail }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const spans = task.spans.flatMap((span) =>
    span.attempt === attempt.attempt && span.end_ns !== null ? [{ ...span, end_ns: span.end_ns }] : [],
  );
  const toTask = (id: string) => ({ ...url, task: id, attempt: undefined });
  const failed = attempt.state !== 'CUT_OFF' && (attempt.error !== null || attempt.state === 'FAILED');
  const logs = !isDriver(task.task_id) && attempt.worker_id !== null && (
    <Section title={t('nav.logs')} testId="task-logs">
      <LogPanel of={{ task_id: task.task_id, attempt: attempt.attempt }} />
    </Section>
  );
  return (
    <>
      {/* The cause in plain words comes before Ray's long text about the same. */}
      {attempt.lost_with !== null && <DeathCause {...attempt.lost_with} title={t('task.lost')} />}
      {failed && <AttemptError attempt={attempt} />}
      {failed && logs}
      {attempt.start_is_lost && (
        <p className={css.note} data-testid="task-start-lost">
          {t('task.startLost')}
        </p>
      )}
      {attempt.end_known_by !== null && <InferredEnd attempt={attempt} />}
      {attempt.type === null && <p className={css.note}>{t('task.unresolved')}</p>}

      {attempt.reported_state === 'PENDING_NODE_ASSIGNMENT' && (
        <WhyPending is={(one) => waitsLike(attempt, one)} since={attempt.states.at(-1)?.time_ns} />
      )}
      {attempt.reported_state === 'PENDING_ARGS_AVAIL' && <MissingArguments task={task} />}

      {!attempt.start_is_lost && <Scheduling task={task} attempt={attempt} />}
      <Lines task={task} attempt={attempt} />
      {!isDriver(task.task_id) && (
        <Profile of={{ q: task.task_id }} canRun={attempt.start_ns !== null && attempt.end_ns === null} />
      )}
      <Section title={t('task.timeline')} testId="task-timeline">
        <States attempt={attempt} />
      </Section>
      <Waits task={task} attempt={attempt.attempt} />
      <Annotations task={task} attempt={attempt.attempt} />

      {!failed && logs}

      <DataFlow task={task} />

      <Section title={t('task.callPath')}>
        <CallPath task={task} />
        {task.parent !== null && (
          <p className={words.line}>
            <span className={words.dim}>{t('task.parent')}</span>
            <Link to={toTask(task.parent.task_id)} testId="task-parent">
              {isDriver(task.parent.task_id) ? t('task.driver') : (task.parent.name ?? task.parent.task_id)}
            </Link>
            {task.parent.state !== null && <TaskState state={task.parent.state} />}
          </p>
        )}
      </Section>

      <AttemptIdentity task={task} attempt={attempt} />

      <TaskChildren task={task} />

      {spans.length > 0 && (
        <Section
          title={t('task.spans')}
          right={
            task.spans_total > Math.min(spans.length, SHOWN) && (
              <span className={`${words.dim} ${words.num}`}>
                {t('task.spansSome', {
                  shown: count(Math.min(spans.length, SHOWN)),
                  total: count(task.spans_total),
                })}
              </span>
            )
          }
        >
          <SpanBars
            bars={spans.slice(0, SHOWN).map((span) => ({ ...span, label: text(span.extra) || span.name }))}
          />
        </Section>
      )}
    </>
  );
}

/**
 * Whether an attempt is waiting for this pending demand: its actor's placement, or the placement of similar
 * tasks.
 */
function waitsLike(attempt: AttemptDetail, one: PendingItem): boolean {
  if (attempt.actor_id !== null) return one.kind === 'actor' && one.id === attempt.actor_id;
  return (
    one.kind === 'task' &&
    one.name === (attempt.func_name ?? attempt.name ?? '') &&
    one.job_id === attempt.job_id &&
    one.runtime_env === attempt.runtime_env &&
    sameAmounts(one.resources, attempt.required_resources)
  );
}

function sameAmounts(shape: Record<string, number>, wanted: unknown): boolean {
  const parsed = typeof wanted === 'string' ? parse(wanted) : wanted;
  const requested = new Map(Object.entries((parsed ?? {}) as Record<string, number>));
  const names = Object.keys(shape);
  return requested.size === names.length && names.every((name) => requested.get(name) === shape[name]);
}

const text = (value: unknown) =>
  isEmpty(value) ? '' : typeof value === 'string' ? value : JSON.stringify(value);

/**
 * Explains an end that Ray did not report: either how the end is known, or that the attempt was cut off when
 * its job ended.
 */
function InferredEnd({ attempt }: { attempt: AttemptDetail }) {
  const { t } = useTranslation();
  const name = useStateName();
  const how =
    attempt.reported_state === 'FAILED' ? 'failed' : (attempt.end_known_by as 'job' | 'session' | 'returned');
  return (
    <p className={css.note} data-testid="task-inferred-end">
      {t(`task.inferredEnd.${how}`, { state: name(attempt.reported_state) })}
    </p>
  );
}

/** The lines of code in which the attempt was. If it has too few samples, also those of its function. */
function Lines({ task, attempt }: { task: TaskDetail; attempt: AttemptDetail }) {
  const { t } = useTranslation();
  const has = isDriver(task.task_id) || attempt.start_ns !== null;
  const of = { task_id: task.task_id, attempt: attempt.attempt };
  const lines = useLines(of, has);
  if (lines === undefined) return null;
  const { func_name, job_id } = attempt;
  // Most short attempts have no samples. That needs an explanation only for a long one.
  const isShown = lines.samples > 0 || (attempt.duration_ns ?? 0) >= 1e9;
  return (
    <>
      {isShown && <LinesSection of={of} answer={lines} testId="task-lines" />}
      {!lines.is_enough && func_name && job_id && (
        <FunctionLines
          filters={{ func_name, job_id }}
          own={lines.samples}
          title={t('lines.titleOf', { name: func_name })}
        />
      )}
    </>
  );
}

/** When the attempt entered each of Ray's states. The phases show how long they lasted. */
function States({ attempt }: { attempt: AttemptDetail }) {
  const { t } = useTranslation();
  if (attempt.states.length === 0)
    return <p className={`${words.line} ${words.dim}`}>{t('task.timelineEmpty')}</p>;
  return (
    <table className={`${plain.table} ${plain.timeline}`}>
      <thead>
        <tr>
          <th>{t('column.state')}</th>
          <th data-align="right">{t('task.entered')}</th>
        </tr>
      </thead>
      <tbody>
        {attempt.states.map(({ state, time_ns }) => (
          <tr key={state}>
            <td>
              <TaskState state={state} />
            </td>
            <td data-align="right">
              <Time ns={time_ns} exact />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
