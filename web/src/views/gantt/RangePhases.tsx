import { useTranslation } from 'react-i18next';
import { SCHEDULING_PHASES } from '../../base/scheduling';
import { PhaseTable } from '../../ui/PhaseTable';
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
      <PhaseTable parts={parts} all={all} />
    </div>
  );
}
