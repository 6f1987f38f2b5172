import { useTranslation } from 'react-i18next';
import type { AttemptDetail, TaskDetail } from '../../api/schema';
import { duration, percent, time } from '../../base/format';
import { SCHEDULING_PHASES, unscheduled } from '../../base/scheduling';
import { Section } from '../../ui/Drawer';
import { PhaseTable, phaseKey } from '../../ui/PhaseTable';
import words from '../../ui/theme/words.module.css';
import { InnerPhases } from './InnerPhases';

/** How much of an attempt's time, from its submission to its end, each phase took. */
export function Scheduling({ task, attempt }: { task: TaskDetail; attempt: AttemptDetail }) {
  const { t } = useTranslation();
  const found = task.scheduling.find((each) => each.attempt === attempt.attempt);
  if (found === undefined || found.total_ns === null || found.total_ns <= 0) return null;
  const all = found.total_ns;
  const isRetry = attempt.attempt > 0;
  const waited = unscheduled(attempt);
  const parts = SCHEDULING_PHASES.map((phase) => ({ phase, spent: found[`${phase}_ns`] ?? 0 })).filter(
    ({ spent }) => waited === null || spent > 0,
  );
  const longest = parts.reduce((most, part) => (part.spent > most.spent ? part : most));
  const where = found.is_local === null ? null : found.is_local ? t('flow.local') : t('flow.spilled');
  return (
    <Section
      title={t('flow.time')}
      testId="task-scheduling"
      right={
        <span className={`${words.dim} ${words.num}`} data-testid="task-total" title={t('timeHint.total')}>
          {attempt.end_ns === null ? t('task.soFar', { span: duration(all) }) : duration(all)}
          {where !== null && ` · ${where}`}
        </span>
      }
    >
      <p className={words.line} data-testid="task-mostly">
        {waited === null
          ? t('flow.mostly', {
              share: percent(longest.spent / all),
              what: t(`flow.doing.${phaseKey(longest.phase, isRetry)}`),
            })
          : t(attempt.end_ns === null ? 'task.notScheduledSince' : 'task.neverScheduledSince', {
              what: t(`task.waitedFor.${waited}`),
              since: time(stateSince(attempt)),
            })}
      </p>
      <PhaseTable parts={parts} all={all} isRetry={isRetry}>
        <InnerPhases task={task} attempt={attempt} total={all} />
      </PhaseTable>
    </Section>
  );
}

/** When the attempt entered its current state. */
const stateSince = ({ states, created_ns }: AttemptDetail) => states.at(-1)?.time_ns ?? created_ns;
