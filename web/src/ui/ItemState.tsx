import type { Tone } from '../base/tokens';
import { Dash } from './Dash';

const TONES: Record<string, Tone> = {
  ALIVE: 'good',
  FINISHED: 'good',
  SUCCEEDED: 'good',
  CREATED: 'good',
  live: 'good',
  RUNNING: 'busy',
  DEAD: 'quiet',
  REMOVED: 'quiet',
  STOPPED: 'quiet',
  CUT_OFF: 'quiet',
  ended: 'quiet',
  FAILED: 'bad',
  INFEASIBLE: 'bad',
  unreadable: 'bad',
};

/** The state of anything but a task. An unknown state has the tone of waiting. */
export function ItemState({ state, label }: { state: string | null; label?: string }) {
  if (!state) return <Dash />;
  return (
    <span className="rs-state" title={state}>
      <span className="rs-dot" style={{ background: `var(--rs-tone-${TONES[state] ?? 'waiting'})` }} />
      <span className="rs-ellipsis">{label ?? state}</span>
    </span>
  );
}
