/** Computes how many attempts ran at once, over time. */

import type { GanttAnswer } from '../../api/schema';

/** How many attempts ran at once: `n[i]` of them from `at[i]` until `at[i + 1]`. */
export interface Profile {
  at: number[];
  n: number[];
  most: number;
  /** The function with the most time, as an index into the answer's names; -1 if there is none. */
  name: number;
}

/**
 * The profile of the bars `which`. Bars in the state `waiting` (an index into the answer's states) do not
 * count as running.
 */
export function profileOf(bars: GanttAnswer['bars'], which: readonly number[], waiting = -1): Profile {
  const changes = new Map<number, number>();
  const busyOf = new Map<number, number>();
  for (const bar of which) {
    const [begin, end, busy] = [bars.begin[bar], bars.end[bar], bars.busy[bar]] as [number, number, number];
    if (end <= begin || bars.state[bar] === waiting) continue;
    // A bar of merged attempts counts only in proportion to the time in which they were busy.
    const weight = (bars.count[bar] as number) > 1 ? busy / (end - begin) : 1;
    changes.set(begin, (changes.get(begin) ?? 0) + weight);
    changes.set(end, (changes.get(end) ?? 0) - weight);
    const name = bars.name[bar] as number;
    busyOf.set(name, (busyOf.get(name) ?? 0) + busy);
  }
  const at = [...changes.keys()].sort((a, b) => a - b);
  let running = 0;
  const n = at.map((time) => {
    running += changes.get(time) as number;
    return Math.max(0, Math.round(running * 1e6) / 1e6);
  });
  const [name] = [...busyOf].sort((a, b) => b[1] - a[1])[0] ?? [-1];
  return { at, n, most: n.reduce((most, one) => Math.max(most, one), 0), name };
}

/** The number of attempts that were running at a given time. */
export function runningAt(profile: Profile, time: number): number {
  let low = 0;
  let high = profile.at.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((profile.at[middle] as number) <= time) low = middle + 1;
    else high = middle;
  }
  return low === 0 ? 0 : (profile.n[low - 1] as number);
}
