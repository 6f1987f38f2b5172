import { useTranslation } from 'react-i18next';
import { count } from '../base/format';
import { withStopped } from '../base/progress';
import { STATE_ORDER, stateColor } from '../base/tokens';
import css from './StackedBar.module.css';
import words from './theme/words.module.css';
import { usePunctuation } from './usePunctuation';
import { useStateName } from './useStateName';

/**
 * Counts by state as a slim bar. Every state that occurs has a minimum width. `stopped` of the failed attempts were
 * stopped by libraries on purpose.
 */
export function StackedBar(props: { states: Record<string, number>; stopped?: number; height?: number }) {
  const { states, stopped = 0, height = 6 } = props;
  const name = useStateName();
  const { colon } = usePunctuation();
  const parts = orderedStates(withStopped(states, stopped));
  const all = parts.reduce((sum, [, number]) => sum + number, 0);
  const title = parts.map(([state, number]) => `${name(state)}${colon}${count(number)}`).join('\n');
  return (
    <div
      className={css.stack}
      style={{ height }}
      title={title || undefined}
      {...(title === '' ? { 'aria-hidden': true } : { role: 'img', 'aria-label': title })}
    >
      {all > 0 &&
        parts.map(([state, number]) => (
          <span key={state} style={{ flexGrow: number / all, background: stateColor(state) }} />
        ))}
    </div>
  );
}

/** The states that occur, in the order in which a task passes through them. */
export function orderedStates(states: Record<string, number>): [string, number][] {
  const rank = (state: string) => {
    const at = STATE_ORDER.indexOf(state);
    return at < 0 ? STATE_ORDER.length : at;
  };
  return Object.entries(states)
    .filter(([, number]) => number > 0)
    .sort(([a], [b]) => rank(a) - rank(b));
}

/** The number of attempts in a state. Failed ones exclude those that libraries stopped, which follow. */
export function StateNumber({ state, number, stopped }: { state: string; number: number; stopped: number }) {
  const { t } = useTranslation();
  if (state !== 'FAILED' || stopped === 0) return count(number);
  return (
    <>
      {count(number - stopped)}{' '}
      <span className={words.dim}>· {t('failures.stopped', { n: count(stopped) })}</span>
    </>
  );
}
