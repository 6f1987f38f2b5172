import { useTranslation } from 'react-i18next';
import type { AttemptDetail, TaskDetail } from '../../api/schema';
import { duration, nanosBetween } from '../../base/format';
import { PHASE_STATES } from '../../base/scheduling';
import { stateColor } from '../../base/tokens';
import css from './InnerPhases.module.css';

/**
 * The worker's phases and the blocked and awaiting times, on a time axis from the attempt's submission to its
 * end.
 */
export function InnerPhases(props: { task: TaskDetail; attempt: AttemptDetail; total: number }) {
  const { task, attempt, total } = props;
  const { t, i18n } = useTranslation();
  const blocked = task.spans.filter(
    (span) =>
      span.attempt === attempt.attempt &&
      span.end_ns !== null &&
      (span.name === 'awaiting' || (span.blocked_on?.length ?? 0) > 0),
  );
  const parts = [
    ...attempt.phases
      // `total` contains all the others.
      .filter((phase) => phase.name !== 'total')
      .map((phase) => ({
        ...phase,
        label: i18n.exists(`task.phase.${phase.name}`)
          ? t(`task.phase.${phase.name}` as 'task.phase.execute')
          : phase.name,
        color: phase.name === 'execute' ? PHASE_STATES.executing : PHASE_STATES.fetching,
      })),
    ...blocked.map((span) => ({
      ...span,
      label:
        span.name === 'awaiting' ? t('flow.phase.awaiting') : `${t('flow.phase.blocked')} (${span.name})`,
      color: PHASE_STATES[span.name === 'awaiting' ? 'awaiting' : 'blocked'],
    })),
  ].flatMap((part) => {
    const from = nanosBetween(attempt.created_ns, part.begin_ns);
    const spent = nanosBetween(part.begin_ns, part.end_ns);
    return from === null || spent === null || from < 0 ? [] : [{ ...part, from, spent }];
  });
  if (parts.length === 0) return null;
  return (
    <div className={css.track} role="img" aria-label={t('task.phases')} data-testid="task-phases">
      {parts.map((part) => (
        <span
          key={`${part.label} ${part.begin_ns}`}
          title={`${part.label}: ${duration(part.spent)}`}
          style={{
            left: `${(100 * part.from) / total}%`,
            width: `${Math.min(100, (100 * part.spent) / total)}%`,
            background: stateColor(part.color),
          }}
        />
      ))}
    </div>
  );
}
