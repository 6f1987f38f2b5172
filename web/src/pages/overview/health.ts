/** Chooses the sentence about the health of a session. Problems come before normal conditions. */

import { count } from '../../base/format';
import { progressOf } from '../../base/progress';
import type { Tone } from '../../base/tokens';

export interface HealthFacts {
  live: boolean;
  /** Attempts by state, without drivers. */
  states: Record<string, number>;
  /** Names of the firing critical alerts, and of the other firing alerts. */
  critical: readonly string[];
  firing: readonly string[];
  nodesAlive: number;
  /** Nodes that died unexpectedly. */
  nodesLost: number;
  /** The part of the pending demand that is infeasible, and all of the pending demand. */
  never: number;
  pending: number;
  /** Attempts that failed within the last minutes of the record. */
  failedLately: number;
  jobsFailed: number;
  /** Tasks whose last attempt failed, and tasks that succeeded in a retry. */
  final: number;
  recovered: number;
  /** The recording itself has problems, so none of the figures here is certain. */
  recordingFails: boolean;
}

export type HealthKey =
  | 'recording'
  | 'critical'
  | 'nodesLost'
  | 'noNodes'
  | 'never'
  | 'failing'
  | 'firing'
  | 'pending'
  | 'running'
  | 'waiting'
  | 'idle'
  | 'nothing'
  | 'endedFailedJobs'
  | 'endedFailed'
  | 'endedRecovered'
  | 'endedOpen'
  | 'endedCutOff'
  | 'endedWell';

/** A further sentence about an ended session, shown if its number is not 0. */
type HealthPart = 'final' | 'recovered' | 'lost';

export interface Health {
  key: HealthKey;
  also: HealthPart[];
  tone: Tone;
  numbers: Record<string, number>;
  names: readonly string[];
}

export function healthOf(facts: HealthFacts): Health {
  const { all, ended, failed, cutOff, running, waiting } = progressOf(facts.states);
  const numbers = {
    all,
    failed,
    ended,
    running,
    waiting,
    open: all - ended,
    cutOff,
    finished: facts.states.FINISHED ?? 0,
    nodes: facts.nodesAlive,
    lost: facts.nodesLost,
    never: facts.never,
    pending: facts.pending,
    lately: facts.failedLately,
    jobsFailed: facts.jobsFailed,
    final: facts.final,
    recovered: facts.recovered,
  };
  const say = (key: HealthKey, tone: Tone, names: readonly string[] = []): Health => ({
    key,
    also: [],
    tone,
    numbers,
    names,
  });
  const ending = (key: HealthKey, tone: Tone, ...parts: HealthPart[]): Health => ({
    ...say(key, facts.nodesLost > 0 && tone !== 'bad' ? 'waiting' : tone),
    also: [...parts, 'lost' as const].filter((part) => numbers[part] > 0),
  });
  if (!facts.live) {
    if (facts.jobsFailed > 0) return ending('endedFailedJobs', 'bad', 'final', 'recovered');
    if (facts.final > 0) return ending('endedFailed', 'waiting', 'recovered');
    if (all - ended > 0) return ending('endedOpen', 'quiet');
    if (all === 0) return ending('nothing', 'quiet');
    if (facts.recovered > 0) return ending('endedRecovered', 'good');
    return cutOff > 0 ? ending('endedCutOff', 'quiet') : ending('endedWell', 'good');
  }
  if (facts.recordingFails) return say('recording', 'bad');
  if (facts.nodesAlive === 0 && facts.nodesLost > 0) return say('noNodes', 'bad');
  if (facts.nodesLost > 0) return say('nodesLost', 'bad');
  if (facts.critical.length > 0) return say('critical', 'bad', facts.critical);
  if (facts.never > 0) return say('never', 'bad');
  if (facts.failedLately > 0) return say('failing', 'bad');
  if (facts.firing.length > 0) return say('firing', 'waiting', facts.firing);
  if (facts.pending > 0) return say('pending', 'waiting');
  if (running > 0) return say('running', 'good');
  if (waiting > 0) return say('waiting', 'waiting');
  return all === 0 ? say('nothing', 'quiet') : say('idle', 'good');
}

/** How many of the latest failures happened within `withinNs` of the record's end. */
export function failedWithin(
  failures: readonly { end_ns: number | null }[],
  lastNs: number | null,
  withinNs: number,
): number {
  if (lastNs === null) return 0;
  return failures.filter(({ end_ns }) => end_ns !== null && end_ns >= lastNs - withinNs).length;
}

/** A number of items that were found among `listed` of `all` items. It ends with `+` if there may be more. */
export function atLeast(found: number, listed: number, all: number): string {
  return `${count(found)}${found === listed && listed < all ? '+' : ''}`;
}

/** Whether a node was lost, i.e. not terminated on purpose. */
export function isLost(reason: string | null | undefined): boolean {
  return !(reason === 'EXPECTED_TERMINATION' || (reason ?? '').includes('DRAIN'));
}
