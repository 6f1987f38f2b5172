import { useTranslation } from 'react-i18next';
import { duration, percent } from '../../base/format';
import { PHASE_STATES, SCHEDULING_PHASES } from '../../base/scheduling';
import { stateColor } from '../../base/tokens';
import { Dot } from '../../ui/Dot';
import plain from '../../ui/theme/plainTable.module.css';
import timeline from '../../ui/theme/timeline.module.css';
import words from '../../ui/theme/words.module.css';
import shared from './gantt.module.css';
import type { RangeAnswer } from './useRange';

/** Time of the attempts in the range by phase. */
export function RangePhases({ answer }: { answer: RangeAnswer }) {
  const { t } = useTranslation();
  const parts = SCHEDULING_PHASES.map((phase) => ({ phase, spent: answer.phases[phase] })).filter(
    (part) => part.spent > 0,
  );
  const all = parts.reduce((sum, part) => sum + part.spent, 0);
  return (
    <div className={shared.rangePart} data-testid="gantt-range-phases">
      <h4>{t('range.phases')}</h4>
      <div className={timeline.bar}>
        {parts.map(({ phase, spent }) => (
          <span
            key={phase}
            title={`${t(`flow.phase.${phase}`)}: ${duration(spent)}`}
            style={{ flexGrow: spent / all, background: stateColor(PHASE_STATES[phase]) }}
          />
        ))}
      </div>
      <table className={`${plain.table} ${plain.timeline}`}>
        <tbody>
          {parts.map(({ phase, spent }) => (
            <tr key={phase} data-phase={phase} title={t(`flow.phaseHint.${phase}`)}>
              <td>
                <span className={words.state}>
                  <Dot color={stateColor(PHASE_STATES[phase])} />
                  {t(`flow.phase.${phase}`)}
                </span>
              </td>
              <td data-align="right" className={words.num}>
                {duration(spent)}
              </td>
              <td data-align="right" className={`${words.num} ${words.dim}`}>
                {percent(spent / all)}%
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
