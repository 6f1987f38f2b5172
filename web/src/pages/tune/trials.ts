/** Sorts trials and computes axes for them. It does not depend on React. */

import type { TuneParameter, TuneTrial } from '../../api/schema';
import { elapsedNs, short } from '../../base/format';

/** Prefix of sort keys that are parameters. The other keys are the table's own columns. */
export const OF_PARAMETER = 'parameter:';
/** Maximum number of parameters shown as table columns and chart axes. */
export const MAX_PARAMETERS = 8;
/** An axis is logarithmic if its maximum is at least this many times its minimum. */
const LOG_FROM = 100;
/** Maximum number of distinct values that fit as labels next to an axis. */
const MAX_NAMES = 12;

export type Plain = string | number | boolean;

/** The parameters that differ between trials, or all if none does; up to the maximum number. */
export function varying(parameters: readonly TuneParameter[]): TuneParameter[] {
  const differing = parameters.filter((one) => one.varies);
  return (differing.length > 0 ? differing : parameters).slice(0, MAX_PARAMETERS);
}

function sortValue(trial: TuneTrial, field: string): Plain | null {
  if (field.startsWith(OF_PARAMETER)) return trial.parameters[field.slice(OF_PARAMETER.length)] ?? null;
  if (field === 'trial') return trial.trial_id;
  if (field === 'state') return trial.state;
  if (field === 'iterations') return trial.iterations;
  if (field === 'value') return trial.value;
  if (field === 'best') return trial.best_value;
  return field === 'duration' ? elapsedNs(trial) : null;
}

/** Sorts trials by a field; a leading `-` reverses the order. Trials without a value come last. */
export function inOrder(trials: readonly TuneTrial[], sort: string): TuneTrial[] {
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

/** An axis: a function that maps a value to its position (0 at the bottom, 1 at the top), and the labels. */
export interface Axis {
  name: string;
  isLog: boolean;
  at: (value: Plain | null | undefined) => number | null;
  ticks: { label: string; at: number }[];
}

/** The axis for some values. With `isDown` the minimum is at the top. */
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

/** A function that rates a value from 0 to 1 (best). If there is no mode, it rates every value 1. */
export function goodness(
  trials: readonly TuneTrial[],
  mode: 'min' | 'max' | null,
): (value: number) => number {
  const values = trials.flatMap(({ value }) => (value === null ? [] : [value]));
  const least = Math.min(...values);
  const most = Math.max(...values);
  if (mode === null || least === most) return () => 1;
  return (value) => (mode === 'min' ? most - value : value - least) / (most - least);
}

/** The hovered and chosen trials, and the click handler. */
export interface Pointing {
  hovered: string | undefined;
  chosen: string;
  onHover: (trialId: string | undefined) => void;
  onChoose: (trialId: string) => void;
}

type Role = 'best' | 'chosen' | 'hovered' | undefined;

/** How a trial is highlighted. */
export function roleOf(id: string, best: string | null, { hovered, chosen }: Pointing): Role {
  if (id === hovered) return 'hovered';
  if (id === chosen) return 'chosen';
  return id === best ? 'best' : undefined;
}

/** Drawing order: higher ranks are drawn later, in front. */
export function rank(role: Role): number {
  return role === undefined ? 0 : ['best', 'chosen', 'hovered'].indexOf(role) + 1;
}
