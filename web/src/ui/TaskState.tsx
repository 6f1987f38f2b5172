import { stateColor } from '../base/tokens';
import { Dot } from './Dot';
import words from './theme/words.module.css';
import { useStateName } from './useStateName';

/** A task's state in the reader's language, Ray's own name on hover. */
export function TaskState({ state }: { state: string | null }) {
  const name = useStateName();
  return (
    <span className={words.state} title={state ?? undefined}>
      <Dot color={stateColor(state)} />
      <span className={words.ellipsis}>{name(state)}</span>
    </span>
  );
}
