import { useTranslation } from 'react-i18next';
import type { AttemptDetail, TaskDetail } from '../../api/schema';
import { duration, percent, time } from '../../base/format';
import { PHASE_STATES, SCHEDULING_PHASES, type SchedulingPhase, unscheduled } from '../../base/scheduling';
import { stateColor } from '../../base/tokens';
import { Dash } from '../../ui/Dash';
import { Dot } from '../../ui/Dot';
import { Section } from '../../ui/Drawer';
import { Duration } from '../../ui/Duration';
import plain from '../../ui/theme/plainTable.module.css';
import timeline from '../../ui/theme/timeline.module.css';
import words from '../../ui/theme/words.module.css';
import { InnerPhases } from './InnerPhases';

/** How an attempt's time divides into phases, from submission to end. */
export function Scheduling({ task, attempt }: { task: TaskDetail; attempt: AttemptDetail }) {
  const { t } = useTranslation();
  const found = task.scheduling.find((each) => each.attempt === attempt.attempt);
  if (found === undefined || found.total_ns === null || found.total_ns <= 0) return null;
  const all = found.total_ns;
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
          ? t('flow.mostly', { share: percent(longest.spent / all), what: t(`flow.doing.${longest.phase}`) })
          : t(attempt.end_ns === null ? 'task.notScheduledSince' : 'task.neverScheduledSince', {
              what: t(`task.waitedFor.${waited}`),
              since: time(stateSince(attempt)),
            })}
      </p>
      <div className={timeline.bar}>
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
      <InnerPhases task={task} attempt={attempt} total={all} />
      <table className={`${plain.table} ${plain.timeline}`}>
        <tbody>
          {parts.map(({ phase, spent }) => (
            <tr key={phase} data-phase={phase} title={t(`flow.phaseHint.${phase}`)}>
              <td>
                <span className={words.state}>
                  <Dot color={phaseColor(phase)} />
                  {t(`flow.phase.${phase}`)}
                </span>
              </td>
              <td data-align="right">{spent > 0 ? <Duration ns={spent} /> : <Dash />}</td>
              <td data-align="right" className={`${words.num} ${words.dim}`}>
                {spent > 0 ? `${percent(spent / all)}%` : ''}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Section>
  );
}

/** When the attempt entered its current state. */
const stateSince = ({ states, created_ns }: AttemptDetail) => states.at(-1)?.time_ns ?? created_ns;

const phaseColor = (phase: SchedulingPhase) => stateColor(PHASE_STATES[phase]);
