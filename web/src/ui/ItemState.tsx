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

/**
 * The color of a state of any entity except a task. An unknown state has that of a waiting state, and so does
 * a FINISHED job, which may have failed.
 */
export const itemTone = (state: string, view?: string): Tone =>
  ((view !== 'jobs' || state !== 'FINISHED') && TONES[state]) || 'waiting';

/**
 * The state of any entity except a task, with Ray's own name on hover. `view` is the list that contains the
 * entity. `tone` replaces the color of the state.
 */
export function ItemState(props: { state: string | null; label?: string; view?: string; tone?: Tone }) {
  const { state, label, view } = props;
  const name = useItemStateName(view);
  if (!state) return <Dash />;
  return (
    <span className={words.state} title={state}>
      <Dot color={`var(--rs-tone-${props.tone ?? itemTone(state, view)})`} />
      <span className={words.ellipsis}>{label ?? name(state)}</span>
    </span>
  );
}
