/** The stretches between an attempt's state changes. */

export interface Segment {
  state: string;
  begin: number;
  /** ns in the state; null while nobody can tell, and of the ends, which last for ever. */
  spent: number | null;
  /** It is still in this state. */
  open: boolean;
}

const ENDS = new Set(['FINISHED', 'FAILED']);

/** By time. The state of a running attempt lasts until `lastSeen`. */
export function segments(
  states: readonly { state: string; time_ns: number }[],
  end: number | null,
  lastSeen: number | null,
): Segment[] {
  const sorted = states.slice().sort((a, b) => a.time_ns - b.time_ns);
  return sorted.map(({ state, time_ns }, at) => {
    const next = sorted[at + 1];
    if (ENDS.has(state)) return { state, begin: time_ns, spent: null, open: false };
    if (next !== undefined) return { state, begin: time_ns, spent: next.time_ns - time_ns, open: false };
    const until = end ?? lastSeen;
    return {
      state,
      begin: time_ns,
      spent: until === null ? null : Math.max(0, until - time_ns),
      open: end === null,
    };
  });
}
