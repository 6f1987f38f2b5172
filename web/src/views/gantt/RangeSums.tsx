import { useTranslation } from 'react-i18next';
import { count } from '../../base/format';
import { stateColor } from '../../base/tokens';
import { Dot } from '../../ui/Dot';
import { orderedStates, StackedBar } from '../../ui/StackedBar';
import words from '../../ui/theme/words.module.css';
import { useStateName } from '../../ui/useStateName';
import shared from './gantt.module.css';
import css from './RangeSums.module.css';
import { meanText } from './rangeText';
import type { RangeAnswer } from './useRange';

/** Number of attempts in the range, their states, and their parallelism. */
export function RangeSums({ answer }: { answer: RangeAnswer }) {
  const { t } = useTranslation();
  const name = useStateName();
  const { mean, most } = answer.running;
  return (
    <div className={shared.rangePart}>
      <p>
        <b className={words.num} data-testid="gantt-range-attempts">
          {t('range.attempts', { n: count(answer.attempts) })}
        </b>
      </p>
      {answer.attempts > 0 && (
        <>
          <StackedBar states={answer.states} />
          <p className={css.states}>
            {orderedStates(answer.states).map(([state, many]) => (
              <span key={state} className={`${words.state} ${words.num}`}>
                <Dot color={stateColor(state)} />
                {name(state)} <b>{count(many)}</b>
              </span>
            ))}
          </p>
          <p className={`${words.dim} ${words.num}`} data-testid="gantt-range-running">
            {most === null
              ? t('range.meanOnly', { mean: meanText(mean) })
              : t('range.running', { mean: meanText(mean), most: count(most) })}
          </p>
        </>
      )}
    </div>
  );
}
