import { count } from '../base/format';
import { STATE_ORDER, stateColor } from '../base/tokens';
import css from './StackedBar.module.css';
import { usePunctuation } from './usePunctuation';
import { useStateName } from './useStateName';

/** Counts by state as a slim bar. Every state that occurs has a minimum width. */
export function StackedBar({ states, height = 6 }: { states: Record<string, number>; height?: number }) {
  const name = useStateName();
  const { colon } = usePunctuation();
  const parts = orderedStates(states);
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
