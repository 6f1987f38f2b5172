/** Orders and scales of trials. No React. */
import { nanosBetween } from '../../base/format';
import type { Trial, TuneParameter } from './types';

/** What the table can be ordered by: a column of its own, or a parameter behind this. */
export const OF_PARAMETER = 'parameter:';
/** Parameters that are columns of the table, and axes of the picture. */
export const MAX_PARAMETERS = 8;
/** An axis is logarithmic if its greatest number is so many times the least. */
const LOG_FROM = 100;
/** Names of so many different values fit beside an axis. */
const MAX_NAMES = 12;

export type Plain = string | number | boolean;

/** A number in four digits at most. */
export function short(value: Plain): string {
  if (typeof value !== 'number') return String(value);
  return Number.isInteger(value) && Math.abs(value) < 1e6
    ? String(value)
    : String(Number(value.toPrecision(4)));
}

/** The parameters that differ between trials, so many at most; all of a single trial's. */
export function varying(parameters: readonly TuneParameter[]): TuneParameter[] {
  return parameters.filter((one) => one.varies).slice(0, MAX_PARAMETERS);
}

/** How long a trial has run, ns, from its first start; until now where it has not ended. */
export function lasted(
  { start_ns, end_ns }: { start_ns: number | null; end_ns: number | null },
  now = Date.now(),
): number | null {
  return nanosBetween(start_ns, end_ns ?? now * 1e6);
}

function sortValue(trial: Trial, field: string): Plain | null {
  if (field.startsWith(OF_PARAMETER)) return trial.parameters[field.slice(OF_PARAMETER.length)] ?? null;
  if (field === 'trial') return trial.trial_id;
  if (field === 'state') return trial.state;
  if (field === 'iterations') return trial.iterations;
  if (field === 'value') return trial.value;
  if (field === 'best') return trial.best_value;
  return field === 'duration' ? lasted(trial) : null;
}

/** The trials by a field, `-` before it turns the order around; what has no value comes last. */
export function inOrder(trials: readonly Trial[], sort: string): Trial[] {
  const down = sort.startsWith('-');
  const field = down ? sort.slice(1) : sort;
  return [...trials].sort((one, other) => {
    const a = sortValue(one, field);
    const b = sortValue(other, field);
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    const order =
      typeof a === 'number' && typeof b === 'number'
        ? a - b
        : String(a).localeCompare(String(b), undefined, { numeric: true });
    return down ? -order : order;
  });
}

/** An axis: where a value lies on it (0 at the bottom, 1 at the top), and what is written beside it. */
export interface Axis {
  name: string;
  isLog: boolean;
  at: (value: Plain | null | undefined) => number | null;
  ticks: { label: string; at: number }[];
}

/** The axis of some values; with `isDown` the least number is at the top. */
export function axisOf(name: string, values: readonly Plain[], isDown = false): Axis {
  const numbers = values.filter((one) => typeof one === 'number');
  if (numbers.length < values.length || numbers.length === 0) {
    const names = [...new Set(values.map(String))].sort((a, b) =>
      a.localeCompare(b, undefined, { numeric: true }),
    );
    const place = (label: string) => {
      const index = names.indexOf(label);
      if (index < 0) return null;
      return names.length === 1 ? 0.5 : index / (names.length - 1);
    };
    const step = Math.ceil(names.length / MAX_NAMES);
    return {
      name,
      isLog: false,
      at: (value) => (value === null || value === undefined ? null : place(String(value))),
      ticks: names
        .filter((_, index) => index % step === 0)
        .map((label) => ({ label, at: place(label) ?? 0 })),
    };
  }
  const least = Math.min(...numbers);
  const most = Math.max(...numbers);
  const isLog = least > 0 && most / least >= LOG_FROM;
  const scale = isLog ? Math.log : (value: number) => value;
  const whole = scale(most) - scale(least);
  const at = (value: Plain | null | undefined) => {
    if (typeof value !== 'number') return null;
    const share = whole === 0 ? 0.5 : (scale(value) - scale(least)) / whole;
    return isDown ? 1 - share : share;
  };
  const ticks = least === most ? [least] : [least, most];
  return { name, isLog, at, ticks: ticks.map((value) => ({ label: short(value), at: at(value) ?? 0 })) };
}

/** How good each value is, from 0 to 1 of the best; of all it is 1 where less or more is not known to be better. */
export function goodness(trials: readonly Trial[], mode: 'min' | 'max' | null): (value: number) => number {
  const values = trials.flatMap(({ value }) => (value === null ? [] : [value]));
  const least = Math.min(...values);
  const most = Math.max(...values);
  if (mode === null || least === most) return () => 1;
  return (value) => (mode === 'min' ? most - value : value - least) / (most - least);
}
