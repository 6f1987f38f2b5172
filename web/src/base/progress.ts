import { RUNNING_STATES } from './tokens';

export interface Progress {
  all: number;
  ended: number;
  failed: number;
  cutOff: number;
  running: number;
  waiting: number;
}

/** The sum of the counts, for example of attempts by state; undefined while they are loading. */
export function total<T extends Record<keyof T, number>>(counts: T): number;
export function total<T extends Record<keyof T, number>>(counts: T | undefined): number | undefined;
export function total(counts: Record<string, number> | undefined) {
  return counts && Object.values(counts).reduce((sum, number) => sum + number, 0);
}

/** Number of failed attempts, excluding those that libraries stopped on purpose. */
export function failedOf(states: Readonly<Record<string, number>>, internalsStopped: number): number {
  return Math.max(0, (states.FAILED ?? 0) - internalsStopped);
}

/** The counts by state, with the attempts that libraries stopped on purpose apart from those that failed. */
export function withStopped(states: Readonly<Record<string, number>>, internalsStopped: number) {
  return { ...states, FAILED: failedOf(states, internalsStopped), STOPPED_BY_LIBRARIES: internalsStopped };
}

/** Adds up the counts by state. Attempts stopped on purpose count as ended but not as failed. */
export function progressOf(states: Readonly<Record<string, number>>, internalsStopped = 0): Progress {
  const all = total(states);
  const failed = failedOf(states, internalsStopped);
  const cutOff = states.CUT_OFF ?? 0;
  const ended = (states.FAILED ?? 0) + cutOff + (states.FINISHED ?? 0);
  const running = RUNNING_STATES.reduce((sum, state) => sum + (states[state] ?? 0), 0);
  return { all, ended, failed, cutOff, running, waiting: Math.max(0, all - ended - running) };
}

/**
 * Parses a JSON object that the user typed. Returns undefined for an empty string, and null for anything else
 * that is not a JSON object.
 */
export function typedObject(text: string): Record<string, unknown> | null | undefined {
  if (text.trim() === '') return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
