import { useTranslation } from 'react-i18next';
import type { NodeWorker, RunningAttempt } from '../api/schema';
import { count, duration, shortId } from '../base/format';
import { Dash } from './Dash';
import { Link } from './Link';
import css from './Running.module.css';
import words from './theme/words.module.css';
import { useSessionUrl } from './useUrl';

type Activity = Pick<NodeWorker, 'running' | 'attempts'>;

/** The oldest running attempt of a worker with its duration, and the number of others. */
export function Running({ worker, ended }: { worker: Activity; ended?: boolean }) {
  const { t } = useTranslation();
  const [first] = worker.attempts;
  if (first === undefined) return ended ? <Dash /> : <span className={words.dim}>{t('running.idle')}</span>;
  return (
    <span className={css.line}>
      <AttemptLink attempt={first} />
      {worker.running > 1 && (
        <span className={`${words.num} ${words.dim}`}>
          {t('running.more', { n: count(worker.running - 1) })}
        </span>
      )}
      <Situation attempt={first} />
    </span>
  );
}

/**
 * The oldest attempts of a worker, one per line, and the number of others. `none` is the text if there are
 * none; `now` is in ns.
 */
export function RunningList({ worker, now, none }: { worker: Activity; now?: number; none: string }) {
  const { t } = useTranslation();
  const more = worker.running - worker.attempts.length;
  if (worker.attempts.length === 0) return <p className={words.dim}>{none}</p>;
  return (
    <>
      <ul>
        {worker.attempts.map((attempt) => (
          <li key={`${attempt.task_id}:${attempt.attempt}`} className={css.row}>
            <AttemptLink attempt={attempt} />
            <Situation attempt={attempt} now={now} />
          </li>
        ))}
      </ul>
      {more > 0 && <p className={words.dim}>{t('running.moreRuns', { n: count(more) })}</p>}
    </>
  );
}

/** A link to a task's panel, or a driver's script. */
function AttemptLink({ attempt }: { attempt: RunningAttempt }) {
  const [url] = useSessionUrl();
  const name = attempt.name || shortId(attempt.task_id);
  if (attempt.type === 'DRIVER_TASK')
    return (
      <span className={words.ellipsis} title={name}>
        {name}
      </span>
    );
  return (
    <Link
      to={{ ...url, task: attempt.task_id, attempt: attempt.attempt }}
      title={`${name}\n${attempt.task_id}`}
      className={`${words.link} ${words.ellipsis}`}
      testId="running-task"
    >
      {name}
    </Link>
  );
}

/**
 * How long an attempt has been running or, if it is blocked or awaiting, for how long and on what.
 */
function Situation({ attempt, now }: { attempt: RunningAttempt; now?: number }) {
  const { t } = useTranslation();
  const { situation, call, blocked_on: on, is_traced: isTraced } = attempt;
  const since = situation === 'running' ? attempt.since_ns : attempt.situation_ns;
  const time = since === null ? '' : duration(Math.max(0, (now ?? Date.now() * 1e6) - since));
  const names = on.map((one) => (one.count > 1 ? `${one.name} ×${count(one.count)}` : one.name)).join(', ');
  const state = names
    ? t('running.blockedOn', { names })
    : situation === 'running'
      ? isTraced
        ? ''
        : t('running.untraced')
      : t(`stack.situation.${situation}`);
  const text = [state, time].filter(Boolean).join(' · ');
  return (
    <span className={`${words.dim} ${words.ellipsis}`} title={[call, text].filter(Boolean).join('\n')}>
      {text}
    </span>
  );
}
