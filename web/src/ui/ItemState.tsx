import type { Tone } from '../base/tokens';
import { Dash } from './Dash';
import { Dot } from './Dot';
import words from './theme/words.module.css';
import { useItemStateName } from './useStateName';

const TONES: Record<string, Tone> = {
  ALIVE: 'good',
  FINISHED: 'good',
  SUCCEEDED: 'good',
  CREATED: 'good',
  live: 'good',
  HEALTHY: 'good',
  RUNNING: 'busy',
  DEAD: 'quiet',
  REMOVED: 'quiet',
  STOPPED: 'quiet',
  CUT_OFF: 'quiet',
  DELETED: 'quiet',
  DRAINED: 'quiet',
  ended: 'quiet',
  FAILED: 'bad',
  UNHEALTHY: 'bad',
  DEPLOY_FAILED: 'bad',
  ERRORED: 'bad',
  ERROR: 'bad',
  TERMINATED: 'good',
  INTERRUPTED: 'quiet',
  ABORTED: 'bad',
  INFEASIBLE: 'bad',
  unreadable: 'bad',
};

/** The state of anything but a task, Ray's own name on hover. An unknown state has the tone of waiting. */
export function ItemState({ state, label }: { state: string | null; label?: string }) {
  const name = useItemStateName();
  if (!state) return <Dash />;
  return (
    <span className={words.state} title={state}>
      <Dot color={`var(--rs-tone-${TONES[state] ?? 'waiting'})`} />
      <span className={words.ellipsis}>{label ?? name(state)}</span>
    </span>
  );
}
