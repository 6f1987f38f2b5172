import { useTranslation } from 'react-i18next';
import { count } from '../../base/format';
import { stateColor } from '../../base/tokens';
import { orderedStates, StackedBar } from '../../ui/StackedBar';
import { useStateName } from '../../ui/useStateName';
import css from './RangeSums.module.css';
import { atATime } from './rangeText';
import type { RangeAnswer } from './useRange';

/** How many attempts there were, in which states, and how many ran at a time. */
export function RangeSums({ answer }: { answer: RangeAnswer }) {
  const { t } = useTranslation();
  const name = useStateName();
  const { mean, most } = answer.running;
  return (
    <div className="rs-range-part">
      <p>
        <b className="rs-num" data-testid="gantt-range-attempts">
          {t('range.attempts', { n: count(answer.attempts) })}
        </b>
      </p>
      {answer.attempts > 0 && (
        <>
          <StackedBar states={answer.states} />
          <p className={css.states}>
            {orderedStates(answer.states).map(([state, many]) => (
              <span key={state} className="rs-state rs-num">
                <span className="rs-dot" style={{ background: stateColor(state) }} />
                {name(state)} <b>{count(many)}</b>
              </span>
            ))}
          </p>
          <p className="rs-dim rs-num" data-testid="gantt-range-running">
            {most === null
              ? t('range.meanOnly', { mean: atATime(mean) })
              : t('range.running', { mean: atATime(mean), most: count(most) })}
          </p>
        </>
      )}
    </div>
  );
}
