import { useTranslation } from 'react-i18next';
import type { DataEdge, TaskAttempt, TaskDetail } from '../../api/types';
import { bytes, count, duration, nanosBetween, percent, shortId } from '../../base/format';
import { PHASE_STATES, SCHEDULING_PHASES, type SchedulingPhase } from '../../base/scheduling';
import { stateColor } from '../../base/tokens';
import { Dash } from '../../ui/Dash';
import { Field, Fields, Section } from '../../ui/Drawer';
import { Duration } from '../../ui/Duration';
import { Link } from '../../ui/Link';
import { Time } from '../../ui/Time';
import { isDriver } from '../../ui/taskColumns';
import { useSessionUrl } from '../../ui/useUrl';
import css from './TaskFlow.module.css';
import shared from './tasks.module.css';

/** Waits that are listed: the longest. */
const WAITS = 10;
/** Tasks that one wait names. */
const NAMED = 3;

/** Where an attempt's time went, from submission to end. The parts add up to the whole. */
export function Scheduling({ task, attempt }: { task: TaskDetail; attempt: TaskAttempt }) {
  const { t } = useTranslation();
  const found = task.scheduling.find((each) => each.attempt === attempt.attempt);
  if (found === undefined || found.total_ns === null || found.total_ns <= 0) return null;
  const all = found.total_ns;
  const parts = SCHEDULING_PHASES.map((phase) => ({ phase, spent: found[`${phase}_ns`] ?? 0 }));
  const where = found.is_local === null ? null : found.is_local ? t('flow.local') : t('flow.spilled');
  return (
    <Section
      title={t('flow.time')}
      testId="task-scheduling"
      right={
        <span className="rs-dim rs-num" data-testid="task-total" title={t('timeHint.total')}>
          {attempt.end_ns === null ? t('task.soFar', { span: duration(all) }) : duration(all)}
          {where !== null && ` · ${where}`}
        </span>
      }
    >
      <div className="rs-timeline">
        {parts.map(
          ({ phase, spent }) =>
            spent > 0 && (
              <span
                key={phase}
                title={`${t(`flow.phase.${phase}`)}: ${duration(spent)}`}
                style={{ flexGrow: spent / all, background: phaseColor(phase) }}
              />
            ),
        )}
      </div>
      <table className="rs-plain-table rs-timeline-table">
        <tbody>
          {parts.map(({ phase, spent }) => (
            <tr key={phase} data-phase={phase} title={t(`flow.phaseHint.${phase}`)}>
              <td>
                <span className="rs-state">
                  <span className="rs-dot" style={{ background: phaseColor(phase) }} />
                  {t(`flow.phase.${phase}`)}
                </span>
              </td>
              <td data-align="right">{spent > 0 ? <Duration ns={spent} /> : <Dash />}</td>
              <td data-align="right" className="rs-num rs-dim">
                {spent > 0 ? percent(spent / all) : ''}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Section>
  );
}

const phaseColor = (phase: SchedulingPhase) => stateColor(PHASE_STATES[phase]);

/** What the attempt waited for inside ray.get, ray.wait and await: the longest waits, and on whom. */
export function Waits({ task, attempt }: { task: TaskDetail; attempt: number }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const names = new Map(task.data_in.map((edge) => [edge.producer_task_id, edge.producer_name]));
  const waits = task.spans
    .filter((span) => span.attempt === attempt && (span.blocked_on?.length ?? 0) > 0)
    .map((span) => ({
      ...span,
      spent: span.end_ns === null ? null : nanosBetween(span.begin_ns, span.end_ns),
    }))
    .sort((a, b) => (b.spent ?? Number.POSITIVE_INFINITY) - (a.spent ?? Number.POSITIVE_INFINITY));
  const summed = summedCalls(task, attempt);
  if (waits.length === 0 && summed === 0) return null;
  return (
    <Section
      title={t('flow.waits')}
      testId="task-waits"
      right={
        waits.length > WAITS && (
          <span className="rs-dim rs-num">
            {t('flow.longest', { shown: WAITS, total: count(waits.length) })}
          </span>
        )
      }
    >
      <table className={`rs-plain-table ${css.waits}`}>
        <tbody>
          {waits.slice(0, WAITS).map((wait) => (
            <tr key={`${wait.name}:${wait.begin_ns}:${wait.end_ns}`}>
              <td className="rs-mono">{wait.name}</td>
              <td>
                {(wait.blocked_on ?? []).slice(0, NAMED).map((id, at) => (
                  <span key={id}>
                    {at > 0 && ', '}
                    <Link to={{ ...url, task: id, attempt: undefined }} title={id}>
                      {names.get(id) ?? shortId(id)}
                    </Link>
                  </span>
                ))}
                {(wait.blocked_on?.length ?? 0) > NAMED && (
                  <span className="rs-dim">
                    {' '}
                    {t('flow.more', { n: count((wait.blocked_on?.length ?? 0) - NAMED) })}
                  </span>
                )}
              </td>
              <td data-align="right">
                {wait.spent === null ? (
                  <span className="rs-dim">{t('flow.stillBlocked')}</span>
                ) : (
                  <Duration ns={wait.spent} />
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {summed > 0 && <p className="rs-line rs-dim">{t('flow.summed', { n: count(summed) })}</p>}
    </Section>
  );
}

/** Calls beyond Ray's limit: they were counted and added up, not told one by one. */
function summedCalls(task: TaskDetail, attempt: number): number {
  let calls = 0;
  for (const span of task.spans) {
    if (span.attempt !== attempt || typeof span.extra !== 'string' || !span.extra.startsWith('{"calls":'))
      continue;
    try {
      calls += Number((JSON.parse(span.extra) as { calls?: unknown }).calls) || 0;
    } catch {
      // Not ours after all.
    }
  }
  return calls;
}

/** The objects that a task was given, got, returned and put. */
export function DataFlow({ task }: { task: TaskDetail }) {
  const { t } = useTranslation();
  return (
    <>
      <Objects
        title={t('flow.dataIn')}
        testId="task-data-in"
        edges={task.data_in}
        total={task.data_in_total}
        all={task.data_in_bytes}
        side="producer"
      />
      <Objects
        title={t('flow.dataOut')}
        testId="task-data-out"
        edges={task.data_out}
        total={task.data_out_total}
        all={task.data_out_bytes}
        side="consumer"
      />
    </>
  );
}

function Objects(props: {
  title: string;
  testId: string;
  edges: DataEdge[];
  total: number;
  all: number;
  side: 'producer' | 'consumer';
}) {
  const [url] = useSessionUrl();
  const { t, i18n } = useTranslation();
  if (props.total === 0) return null;
  const kind = (edge: DataEdge) => {
    const name = i18n.exists(`flow.kind.${edge.kind}`)
      ? t(`flow.kind.${edge.kind}` as 'flow.kind.get')
      : edge.kind;
    if (edge.nested) return `${name} ${t('flow.nested')}`;
    return edge.by_value ? `${name} ${t('flow.byValue')}` : name;
  };
  return (
    <Section
      title={props.title}
      testId={props.testId}
      right={
        <span className="rs-dim rs-num">
          {bytes(props.all)}
          {props.edges.length < props.total &&
            ` · ${t('flow.largest', { shown: count(props.edges.length), total: count(props.total) })}`}
        </span>
      }
    >
      <div className="rs-mini-list">
        {props.edges.map((edge) => {
          const id = props.side === 'producer' ? edge.producer_task_id : edge.consumer_task_id;
          const name = props.side === 'producer' ? edge.producer_name : edge.consumer_name;
          const row = (
            <>
              <span className="rs-ellipsis">{kind(edge)}</span>
              <span className="rs-ellipsis" title={edge.object_id}>
                {id === null ? t('common.unknown') : isDriver(id) ? t('task.driver') : (name ?? shortId(id))}
                {edge.is_remote && <span className="rs-dim"> {t('flow.remote')}</span>}
              </span>
              <span className="rs-num">{edge.bytes === null ? '–' : bytes(edge.bytes)}</span>
            </>
          );
          const key = `${edge.object_id}:${edge.kind}:${id}`;
          return id === null ? (
            <span key={key} className={shared.miniRow}>
              {row}
            </span>
          ) : (
            <Link key={key} to={{ ...url, task: id, attempt: undefined }} className={shared.miniRow}>
              {row}
            </Link>
          );
        })}
      </div>
    </Section>
  );
}

/** What the user's code said of the attempt; of a counter the last value. */
export function Annotations({ task, attempt }: { task: TaskDetail; attempt: number }) {
  const { t } = useTranslation();
  const last = new Map(
    task.annotations.filter((note) => note.attempt === attempt).map((note) => [note.name, note]),
  );
  if (last.size === 0) return null;
  return (
    <Section title={t('flow.annotations')} testId="task-annotations">
      <Fields>
        {[...last.values()].map((note) => (
          <Field key={note.name} name={note.name}>
            <span className="rs-break">{note.value}</span>
            {note.kind === 'counter' && (
              <span className="rs-dim">
                {' '}
                <Time ns={note.time_ns} />
              </span>
            )}
          </Field>
        ))}
      </Fields>
    </Section>
  );
}
