import { SegmentedControl, Skeleton } from '@mantine/core';
import { IconChevronRight } from '@tabler/icons-react';
import { useCallback } from 'react';
import { useTranslation } from 'react-i18next';
import { isMissing } from '../../api/client';
import type { Pending } from '../../api/nodes';
import { useTask } from '../../api/queries';
import type { TaskAttempt, TaskDetail } from '../../api/types';
import { stripAnsi } from '../../base/ansi';
import { count, fullTime, nanosBetween } from '../../base/format';
import { stateColor } from '../../base/tokens';
import { toView } from '../../base/url';
import { CopyButton } from '../../ui/CopyButton';
import { CopyId } from '../../ui/CopyId';
import { Drawer, Field, Fields, Section } from '../../ui/Drawer';
import { Duration } from '../../ui/Duration';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { ItemLink } from '../../ui/ItemLink';
import { Link } from '../../ui/Link';
import { LogPanel } from '../../ui/logs/LogPanel';
import { TaskState } from '../../ui/TaskState';
import { Time } from '../../ui/Time';
import { isDriver, useTypeName } from '../../ui/taskColumns';
import { useStateName } from '../../ui/useStateName';
import { useSessionUrl } from '../../ui/useUrl';
import { isEmpty, Json, parse } from '../../ui/Value';
import { WhyPending } from '../../ui/WhyPending';
import css from './TaskDrawer.module.css';
import { Annotations, DataFlow, Scheduling, Waits } from './TaskFlow';
import shared from './tasks.module.css';

/** Children and spans that are drawn; the API has more, and says how many. */
const SHOWN = 100;

export function TaskDrawer({ taskId }: { taskId: string }) {
  const [url, change] = useSessionUrl();
  const { t } = useTranslation();
  const task = useTask(url.session, taskId);
  const close = useCallback(
    () => change((before) => ({ ...before, task: undefined, attempt: undefined, wide: undefined })),
    [change],
  );
  const attempts = task.data?.attempts ?? [];
  const attempt =
    attempts.find((candidate) => candidate.attempt === url.attempt) ?? attempts[attempts.length - 1];
  return (
    <Drawer
      testId="task-drawer"
      title={
        <span className="rs-break">
          {isDriver(taskId) ? t('type.DRIVER_TASK') : (attempt?.name ?? attempt?.func_name ?? taskId)}
        </span>
      }
      subtitle={
        attempt && (
          <>
            <TaskState state={attempt.state} />
            <Duration ns={attempt.duration_ns} />
            <CopyId id={taskId} />
          </>
        )
      }
      onClose={close}
    >
      {task.data === undefined && task.error !== null && (
        <ErrorPanel
          error={task.error}
          title={isMissing(task.error) ? t('task.missing') : undefined}
          onRetry={() => void task.refetch()}
        />
      )}
      {task.isPending && task.error === null && (
        <div className="rs-section">
          {[90, 70, 80, 50, 65].map((width) => (
            <Skeleton key={width} height={12} width={`${width}%`} mb={12} />
          ))}
        </div>
      )}
      {task.data && attempt && (
        <>
          {attempts.length > 1 && (
            <div className={css.attempts}>
              <SegmentedControl
                size="xs"
                aria-label={t('task.attemptsOf')}
                data-testid="attempt-tabs"
                value={String(attempt.attempt)}
                onChange={(value) =>
                  change((before) => ({ ...before, attempt: Number(value) }), { replace: true })
                }
                data={attempts.map((each) => ({
                  value: String(each.attempt),
                  label: (
                    <span className="rs-state">
                      <span className="rs-dot" style={{ background: stateColor(each.state) }} />
                      {t(each.attempt === 0 ? 'task.firstAttempt' : 'task.attempt', { n: each.attempt })}
                    </span>
                  ),
                }))}
              />
            </div>
          )}
          <AttemptView task={task.data} attempt={attempt} />
        </>
      )}
    </Drawer>
  );
}

/** Whether it waits for what the attempt waits for: its actor's place, or that of tasks like it. */
function waitsLike(attempt: TaskAttempt, one: Pending): boolean {
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
  const told = typeof wanted === 'string' ? parse(wanted) : wanted;
  const asked = new Map(Object.entries((told ?? {}) as Record<string, number>));
  const names = Object.keys(shape);
  return asked.size === names.length && names.every((name) => asked.get(name) === shape[name]);
}

function AttemptView({ task, attempt }: { task: TaskDetail; attempt: TaskAttempt }) {
  const [url] = useSessionUrl();
  const { t, i18n } = useTranslation();
  const typeName = useTypeName(t, i18n.exists);
  const spans = task.spans.flatMap((span) =>
    span.attempt === attempt.attempt && span.end_ns !== null ? [{ ...span, end_ns: span.end_ns }] : [],
  );
  const toTask = (id: string) => ({ ...url, task: id, attempt: undefined });
  return (
    <>
      {attempt.state !== 'CUT_OFF' && (attempt.error !== null || attempt.state === 'FAILED') && (
        <ErrorView attempt={attempt} />
      )}
      {attempt.start_is_lost && (
        <p className={css.note} data-testid="task-start-lost">
          {t('task.startLost')}
        </p>
      )}
      {attempt.end_known_by !== null && <InferredEnd attempt={attempt} />}
      {attempt.type === null && <p className={css.note}>{t('task.unresolved')}</p>}

      {attempt.reported_state === 'PENDING_NODE_ASSIGNMENT' && (
        <WhyPending is={(one) => waitsLike(attempt, one)} />
      )}

      {!attempt.start_is_lost && <Scheduling task={task} attempt={attempt} />}
      <Section title={t('task.timeline')} testId="task-timeline">
        <States attempt={attempt} />
      </Section>
      <Waits task={task} attempt={attempt.attempt} />
      <Annotations task={task} attempt={attempt.attempt} />

      {attempt.phases.length > 0 && (
        <Section title={t('task.phases')}>
          <Bars
            bars={attempt.phases.map((phase) => ({
              ...phase,
              name: i18n.exists(`task.phase.${phase.name}`)
                ? t(`task.phase.${phase.name}` as 'task.phase.total')
                : phase.name,
              label: phase.name,
            }))}
          />
        </Section>
      )}

      {!isDriver(task.task_id) && attempt.worker_id !== null && (
        <Section title={t('nav.logs')} testId="task-logs">
          <LogPanel of={{ task_id: task.task_id, attempt: attempt.attempt }} />
        </Section>
      )}

      <DataFlow task={task} />

      <Section title={t('task.callPath')}>
        <CallPath task={task} />
        {task.parent !== null && (
          <p className="rs-line">
            <span className="rs-dim">{t('task.parent')}</span>
            <Link to={toTask(task.parent.task_id)} testId="task-parent">
              {isDriver(task.parent.task_id) ? t('task.driver') : (task.parent.name ?? task.parent.task_id)}
            </Link>
            {task.parent.state !== null && <TaskState state={task.parent.state} />}
          </p>
        )}
      </Section>

      <Section title={t('task.identity')}>
        <Fields>
          <Field name={t('column.task_id')}>
            <CopyId id={task.task_id} full />
          </Field>
          <Field name={t('column.func_name')}>
            {attempt.func_name ? (
              <Link
                to={toView(url, 'tasks', { func_name: attempt.func_name })}
                title={t('task.sameFunction')}
              >
                {attempt.func_name}
              </Link>
            ) : (
              '–'
            )}
          </Field>
          <Field name={t('column.type')}>{typeName(attempt.type)}</Field>
          <Field name={t('column.created')}>
            <Time ns={attempt.created_ns} full />
          </Field>
          <Field name={t('column.start')}>
            <Time ns={attempt.start_ns} full />
          </Field>
          <Field name={t('column.end')}>
            <Time ns={attempt.end_ns} full />
          </Field>
          <Field name={t('column.job')}>
            <ItemLink view="jobs" id={attempt.job_id} />
          </Field>
          <Field name={t('column.node')}>
            <ItemLink view="nodes" id={attempt.node_id} />
          </Field>
          <Field name={t('column.worker')}>
            <ItemLink view="workers" id={attempt.worker_id} />
            {attempt.worker_pid !== null && <span className="rs-num rs-dim"> PID {attempt.worker_pid}</span>}
          </Field>
          {attempt.cpu_ns !== null && (
            <Field name={t('column.cpu')}>
              <Duration ns={attempt.cpu_ns} />
            </Field>
          )}
          {attempt.actor_id && (
            <Field name={t('column.actor')}>
              <ItemLink view="actors" id={attempt.actor_id} /> {attempt.actor_repr_name}
            </Field>
          )}
          {attempt.placement_group_id && (
            <Field name={t('column.placement_group')}>
              <ItemLink view="placement-groups" id={attempt.placement_group_id} />
            </Field>
          )}
          {attempt.language && <Field name={t('task.language')}>{attempt.language}</Field>}
          {!isEmpty(attempt.required_resources) && (
            <Field name={t('task.resources')}>
              <Json value={attempt.required_resources} />
            </Field>
          )}
          {!isEmpty(attempt.label_selector) && (
            <Field name={t('task.labelSelector')}>
              <Json value={attempt.label_selector} />
            </Field>
          )}
          {!isEmpty(attempt.runtime_env) && (
            <Field name={t('task.runtimeEnv')}>
              <Json value={attempt.runtime_env} />
            </Field>
          )}
          {(attempt.stdout_file || attempt.stderr_file) && (
            <Field name={t('task.logs')}>
              <LogFile file={attempt.stdout_file} />
              <LogFile file={attempt.stderr_file} />
            </Field>
          )}
        </Fields>
        {attempt.call_site && (
          <>
            <h4 className={css.minor}>{t('task.callSite')}</h4>
            <pre className="rs-pre">{attempt.call_site}</pre>
          </>
        )}
      </Section>

      {task.children_total > 0 && (
        <Section
          title={t('task.children')}
          testId="task-children"
          right={
            <>
              <span className="rs-dim rs-num">
                {task.children.length < task.children_total
                  ? t('task.childrenSome', {
                      shown: count(task.children.length),
                      total: count(task.children_total),
                    })
                  : count(task.children_total)}
              </span>
              <Link to={toView(url, 'tasks', { caller_task_id: task.task_id })}>{t('task.childrenAll')}</Link>
            </>
          }
        >
          <div className="rs-mini-list">
            {task.children.map((child) => (
              <Link
                key={`${child.task_id}:${child.attempt}`}
                to={{ ...url, task: child.task_id, attempt: child.attempt }}
                className={shared.miniRow}
              >
                <TaskState state={child.state} />
                <span className="rs-ellipsis" title={child.name ?? child.task_id}>
                  {child.name ?? child.task_id}
                </span>
                <Duration ns={child.duration_ns} />
              </Link>
            ))}
          </div>
        </Section>
      )}

      {spans.length > 0 && (
        <Section
          title={t('task.spans')}
          right={
            task.spans_total > Math.min(spans.length, SHOWN) && (
              <span className="rs-dim rs-num">
                {t('task.spansSome', {
                  shown: count(Math.min(spans.length, SHOWN)),
                  total: count(task.spans_total),
                })}
              </span>
            )
          }
        >
          <Bars
            bars={spans.slice(0, SHOWN).map((span) => ({ ...span, label: text(span.extra) || span.name }))}
          />
        </Section>
      )}
    </>
  );
}

const text = (value: unknown) =>
  isEmpty(value) ? '' : typeof value === 'string' ? value : JSON.stringify(value);

function LogFile({ file }: { file: string | null }) {
  if (!file) return null;
  return (
    <span className={css.log}>
      <span className="rs-mono rs-break">{file}</span>
      <CopyButton text={file} />
    </span>
  );
}

function ErrorView({ attempt }: { attempt: TaskAttempt }) {
  const { t } = useTranslation();
  const message = stripAnsi(attempt.error?.message ?? '');
  const line = stripAnsi(attempt.error_summary ?? '').trim();
  return (
    <section className={css.failure} data-testid="task-error">
      <div className="rs-section-head">
        <h3>{attempt.error?.type ?? attempt.error_type ?? t('task.error')}</h3>
        {message !== '' && <CopyButton text={message} />}
      </div>
      {/* Of a long traceback the line that matters is the last: it goes first. */}
      {line !== '' && line !== message.trim() && <p className={css.failureLine}>{line}</p>}
      {attempt.error?.is_cut && <p className="rs-line rs-dim">{t('task.errorCut')}</p>}
      {message === '' ? (
        <p className="rs-line">{t('task.errorGone')}</p>
      ) : (
        <pre className={`rs-pre ${css.traceback}`}>{message}</pre>
      )}
    </section>
  );
}

/** Why the end is known of an attempt of which Ray reported none, or that the end of its job cut off. */
function InferredEnd({ attempt }: { attempt: TaskAttempt }) {
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

function CallPath({ task }: { task: TaskDetail }) {
  const { t } = useTranslation();
  const unknown = isDriver(task.task_id) ? t('task.driver') : t('common.unknown');
  const names = task.call_path.length > 0 ? task.call_path : [unknown];
  // The names begin below the driver. Whether they reach up to it is known of the driver's own tasks alone.
  const path =
    task.parent !== null && isDriver(task.parent.task_id) && names.length === 1
      ? [t('task.driver'), ...names]
      : names;
  return (
    <div className={css.path} data-testid="call-path">
      {path.map((name, depth) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a function may call itself; the depth tells them apart.
        <span key={depth} className={css.pathStep}>
          {depth > 0 && <IconChevronRight size={12} className="rs-dim" aria-hidden />}
          <span className={depth === path.length - 1 ? css.pathHere : undefined}>{name}</span>
        </span>
      ))}
    </div>
  );
}

/** When each of Ray's states was entered. How long they lasted is told by the phases. */
function States({ attempt }: { attempt: TaskAttempt }) {
  const { t } = useTranslation();
  if (attempt.states.length === 0) return <p className="rs-line rs-dim">{t('task.timelineEmpty')}</p>;
  return (
    <table className="rs-plain-table rs-timeline-table">
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

interface Bar {
  name: string;
  label: string;
  begin_ns: number;
  end_ns: number;
}

/** Named stretches of time under one another, to one scale. */
function Bars({ bars }: { bars: Bar[] }) {
  const begin = Math.min(...bars.map((bar) => bar.begin_ns));
  const end = Math.max(...bars.map((bar) => bar.end_ns));
  const all = Math.max(1, end - begin);
  return (
    <div className={css.bars}>
      {bars.map((bar, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: spans have no ids; equal ones are one span.
        <div key={at} className={css.barRow} title={`${bar.label}\n${fullTime(bar.begin_ns)}`}>
          <span className="rs-ellipsis">{bar.name}</span>
          <span className={css.barTrack}>
            <span
              className={css.bar}
              style={{
                left: `${(100 * (bar.begin_ns - begin)) / all}%`,
                width: `${(100 * (bar.end_ns - bar.begin_ns)) / all}%`,
              }}
            />
          </span>
          <span className={css.barNumber}>
            <Duration ns={nanosBetween(bar.begin_ns, bar.end_ns)} />
          </span>
        </div>
      ))}
    </div>
  );
}
