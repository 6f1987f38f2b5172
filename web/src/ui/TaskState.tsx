import { stateColor } from '../base/tokens';
import { useStateName } from './useStateName';

/** A task's state in the reader's language, Ray's own name on hover. */
export function TaskState({ state }: { state: string | null }) {
  const name = useStateName();
  return (
    <span className="rs-state" title={state ?? undefined}>
      <span className="rs-dot" style={{ background: stateColor(state) }} />
      <span className="rs-ellipsis">{name(state)}</span>
    </span>
  );
}
