/**
 * Formats durations, times, counts and ids. Times are ns since the epoch (about 1.8e18), which a double holds
 * to within 256 ns, precise enough for milliseconds. `bigint` and decimal strings are accepted too and lose
 * no precision before the division.
 */

export type Nanos = number | bigint | string | null | undefined;

/** Converts ns to ms, keeping the fraction; null if the value is not a number. */
export function toMillis(ns: Nanos): number | null {
  if (ns === null || ns === undefined || ns === '') return null;
  if (typeof ns === 'number') return Number.isFinite(ns) ? ns / 1e6 : null;
  try {
    const whole = BigInt(ns);
    return Number(whole / 1_000_000n) + Number(whole % 1_000_000n) / 1e6;
  } catch {
    return null;
  }
}

/** The difference of two times in ns, exact for bigint and strings; null if either is unknown. */
export function nanosBetween(begin: Nanos, end: Nanos): number | null {
  if (begin === null || begin === undefined || end === null || end === undefined) return null;
  if (typeof begin === 'number' && typeof end === 'number') return end - begin;
  try {
    return Number(BigInt(end) - BigInt(begin));
  } catch {
    return null;
  }
}

/** How long something has been running, or ran, ns; null if its start is unknown. */
export function elapsedNs(
  { start_ns, end_ns }: { start_ns: number | null; end_ns: number | null },
  now = Date.now(),
): number | null {
  return nanosBetween(start_ns, end_ns ?? now * 1e6);
}

/** A value with at most four digits, or in full if it is a whole number below a million; `–` if unknown. */
export function short(value: string | number | boolean | null): string {
  if (value === null) return '–';
  if (typeof value !== 'number' || (Number.isInteger(value) && Math.abs(value) < 1e6)) return String(value);
  return String(Number(value.toPrecision(4)));
}

function threeDigits(value: number): string {
  if (value >= 100) return value.toFixed(0);
  if (value >= 10) return value.toFixed(1);
  return value.toFixed(2);
}

/** `850 ns`, `12.5 µs`, `3.20 ms`, `1.25 s`, `2m 05s`, `3h 07m`, `4d 02h`; `–` if unknown. */
export function duration(ns: Nanos): string {
  const millis = toMillis(ns);
  if (millis === null) return '–';
  if (millis < 0) return `−${duration(-millis * 1e6)}`;
  if (millis === 0) return '0 s';
  if (millis < 0.001) return `${Math.round(millis * 1e6)} ns`;
  if (millis < 0.9995) return `${threeDigits(millis * 1e3)} µs`;
  if (millis < 999.5) return `${threeDigits(millis)} ms`;
  if (millis < 59_950) return `${threeDigits(millis / 1e3)} s`;
  const seconds = Math.round(millis / 1e3);
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${two(seconds % 60)}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 1440) return `${Math.floor(minutes / 60)}h ${two(minutes % 60)}m`;
  const hours = Math.floor(minutes / 60);
  return `${Math.floor(hours / 24)}d ${two(hours % 24)}h`;
}

/**
 * Both ends of a range: `20.0` and `35.0 s`, `450 ms` and `1.20 s`; only the second if both would read the
 * same.
 */
export function rangeEnds(low: number, high: number): [string, string] {
  const [begin, end] = [duration(low), duration(high)];
  if (begin === end) return ['', end];
  const [number = '', unit = ''] = begin.split(' ');
  // The unit cannot be left out of `1m 05s` or `0 s`.
  const sharesUnit = low > 0 && /^\p{L}+$/u.test(unit) && end.endsWith(` ${unit}`);
  return [sharesUnit ? number : begin, end];
}

/**
 * A command line without the interpreter and paths: `/usr/bin/python -u /home/me/train.py --lr 1` becomes
 * `train.py --lr 1`.
 */
export function programName(command: string): string {
  const words = command.match(/(?:"(?:[^"\\]|\\.)*"|'[^']*'|\\\s|\S)+/g) ?? [];
  const base = (word: string) => {
    const path = word.replace(/(["'])(.*?)\1/g, '$2').replaceAll('\\ ', ' ');
    return path.split('/').pop() || path;
  };
  let at = 0;
  if (/^python[\d.]*$/.test(base(words[0] ?? ''))) {
    at = 1;
    while (words[at]?.startsWith('-') && words[at] !== '-m' && words[at] !== '-c') at += 1;
    if (words[at] === '-m') at += 1;
  }
  const [program, ...rest] = words.slice(at);
  return program === undefined || program === '-c' ? command.trim() : [base(program), ...rest].join(' ');
}

/** An age that updates while it is on screen, so it has whole seconds and few digits. */
export function wholeAge(millis: number | null): string {
  if (millis === null) return '–';
  const seconds = Math.round(millis / 1000);
  return seconds < 60 ? `${seconds} s` : duration(seconds * 1e9);
}

const two = (value: number) => String(value).padStart(2, '0');

/** The time zones in which times are shown. A session does not record that of its cluster. */
export const ZONES = ['browser', 'utc'] as const;
export type Zone = (typeof ZONES)[number];
let zone: Zone = 'browser';

/** Sets the time zone of all times; what is already rendered must be rendered again. */
export function showTimesIn(next: Zone): void {
  zone = next;
}

export const isUtc = () => zone === 'utc';

/** The difference of the time zone from UTC, minutes. */
const offsetAt = (millis: number) => (isUtc() ? 0 : -new Date(millis).getTimezoneOffset());

/** A time in the chosen time zone: `2026-11-21T14:03:07.123`; empty if unknown. */
export function zoned(millis: number | null): string {
  if (millis === null || Number.isNaN(new Date(millis).getTime())) return '';
  return new Date(millis + offsetAt(millis) * 60_000).toISOString().slice(0, 23);
}

/** The reverse: ms since the epoch. */
export const fromZoned = (text: string) => new Date(isUtc() ? `${text}Z` : text).getTime();

/** Within this time, a date without the year is unambiguous, ms. */
const YEARLESS = 300 * 86_400_000;

/** `14:03:07` today, `11-21 14:03:07` within 300 days, else with the year; `–` if unknown. */
export function time(ns: Nanos, now: Date = new Date()): string {
  const text = zoned(toMillis(ns)).slice(0, 19).replace('T', ' ');
  const today = zoned(now.getTime());
  if (text === '') return '–';
  if (text.slice(0, 10) === today.slice(0, 10)) return text.slice(11);
  return Math.abs(now.getTime() - (toMillis(ns) ?? 0)) < YEARLESS ? text.slice(5) : text;
}

/** A time to the millisecond with the zone's offset: `2026-11-21 14:03:07.123 +01:00`. */
export function fullTime(ns: Nanos): string {
  const millis = toMillis(ns);
  const text = zoned(millis);
  if (millis === null || text === '') return '';
  const offset = offsetAt(millis);
  const sign = offset < 0 ? '-' : '+';
  return `${text.replace('T', ' ')} ${sign}${two(Math.floor(Math.abs(offset) / 60))}:${two(Math.abs(offset) % 60)}`;
}

/** The time of day to the millisecond: `14:03:07.123`; `–` if unknown. */
export function clockTime(ns: Nanos): string {
  return fullTime(ns).split(' ')[1] ?? '–';
}

const grouped = new Intl.NumberFormat('en-US');

/** `1,234,567`; `–` if unknown. */
export function count(value: number | null | undefined): string {
  return value === null || value === undefined ? '–' : grouped.format(value);
}

/** `–` if unknown, `512 B`, `1.5 MiB`. */
export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined) return '–';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let rest = value;
  let unit = 0;
  while (rest >= 1024 && unit < units.length - 1) {
    rest /= 1024;
    unit += 1;
  }
  return unit === 0 ? `${rest} B` : `${threeDigits(rest)} ${units[unit]}`;
}

/**
 * The part of an id that differs from similar ids. Task ids start with random bytes and end with the ids of
 * their actor and job. An actor's creation task is an exception: its id starts with ff's, so its end is
 * shown. The end is also shown for a driver's task (ff's after the first byte) and for objects that it put,
 * which differ only there.
 */
export function shortId(id: string): string {
  if (id.length <= 12) return id;
  return /^(ff|00)ffffff/.test(id) ? `…${id.slice(-12)}` : `${id.slice(0, 8)}…`;
}

const FRAME = /^\s*File "[^"]+", line \d+/;

/**
 * The line of a traceback that names the exception, i.e. the first one after its frames. For any other
 * string, the first line that is not indented.
 */
export function headline(text: string): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const behind = lines.slice(lines.findLastIndex((line) => FRAME.test(line)) + 1);
  return (behind.find((line) => /^\S/.test(line)) ?? lines.at(-1) ?? '').trim();
}

/** An amount of a resource; memory is formatted as bytes. */
export function amount(name: string, value: number): string {
  if (name.endsWith('memory')) return bytes(value);
  return String(Math.round(value * 100) / 100);
}

/** `2 CPU, 1 GiB memory`. */
export function shapeText(resources: Record<string, number>): string {
  return (
    Object.entries(resources)
      .map(([name, value]) => `${amount(name, value)} ${name}`)
      .join(', ') || '0'
  );
}

/** A share as a whole percentage without the sign: `42`, `<1`. */
export const percent = (share: number) => (share > 0 && share < 0.005 ? '<1' : `${Math.round(100 * share)}`);

/** A change from A to B by its ratio: `+7.7%`, `−12.0%`, `0.0%`. */
export function changeText(ratio: number): string {
  const percents = (100 * Math.abs(ratio - 1)).toFixed(1);
  if (percents === '0.0') return '0.0%';
  return `${ratio < 1 ? '−' : '+'}${percents}%`;
}

/** Where a line of code is. Native code has no lines. */
export const codePlace = ({ file, line }: { file: string; line: number }): string =>
  line > 0 ? `${file}:${line}` : file;
