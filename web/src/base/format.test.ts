import { describe, expect, it } from 'vitest';
import {
  bytes,
  clockTime,
  count,
  duration,
  elapsedNs,
  fromZoned,
  fullTime,
  headline,
  nanosBetween,
  programName,
  rangeEnds,
  short,
  shortId,
  showTimesIn,
  time,
  toMillis,
  wholeAge,
  zoned,
} from './format';

describe('duration', () => {
  it.each([
    [null, '–'],
    [0, '0 s'],
    [850, '850 ns'],
    [12_500, '12.5 µs'],
    [999_400, '999 µs'],
    [999_600, '1.00 ms'],
    [3_200_000, '3.20 ms'],
    [999_400_000, '999 ms'],
    [999_600_000, '1.00 s'],
    [1_250_000_000, '1.25 s'],
    [59_940_000_000, '59.9 s'],
    [59_960_000_000, '1m 00s'],
    [125_000_000_000, '2m 05s'],
    [11_220_000_000_000, '3h 07m'],
    [352_800_000_000_000, '4d 02h'],
    [-3_200_000, '−3.20 ms'],
  ])('%s ns is %s', (ns, text) => expect(duration(ns)).toBe(text));
});

describe('range', () => {
  it.each([
    [20, 35, '20.0', '35.0 s'],
    [0.45, 1.2, '450 ms', '1.20 s'],
    [0, 1.2, '0 s', '1.20 s'],
    [65, 125, '1m 05s', '2m 05s'],
    [3600, 3660, '1h 00m', '1h 01m'],
    [2, 2.001, '', '2.00 s'],
  ])('%s s to %s s', (low, high, begin, end) => {
    expect(rangeEnds(low * 1e9, high * 1e9)).toEqual([begin, end]);
  });
});

describe('times beyond 2^53 ns', () => {
  const exact = 1_795_257_600_123_456_789n;
  it('keeps the millisecond of a number rounded by JSON.parse', () => {
    expect(Math.floor(toMillis(JSON.parse(String(exact))) ?? 0)).toBe(1_795_257_600_123);
  });
  it('accepts bigint and text without loss', () => {
    expect(toMillis(exact)).toBeCloseTo(1_795_257_600_123.4568, 3);
    expect(toMillis(String(exact))).toBe(toMillis(exact));
    expect(nanosBetween(exact, exact + 1n)).toBe(1);
    expect(nanosBetween(String(exact), String(exact + 999n))).toBe(999);
  });
  it('shows a dash for unknown values', () => {
    expect(toMillis('nonsense')).toBeNull();
    expect(nanosBetween(null, exact)).toBeNull();
    expect(fullTime(undefined)).toBe('');
    expect(time(null)).toBe('–');
  });
});

it('shows local time, the date only when it is another day, and milliseconds in full', () => {
  const at = new Date(2026, 10, 21, 14, 3, 7, 123);
  const ns = BigInt(at.getTime()) * 1_000_000n;
  expect(time(ns, new Date(2026, 10, 21, 23, 0))).toBe('14:03:07');
  expect(time(ns, new Date(2026, 10, 22))).toBe('11-21 14:03:07');
  expect(time(ns, new Date(2027, 0, 1))).toBe('11-21 14:03:07');
  expect(time(ns, new Date(2027, 10, 1))).toBe('2026-11-21 14:03:07');
  expect([clockTime(ns), clockTime(null)]).toEqual(['14:03:07.123', '–']);
  expect(fullTime(ns)).toMatch(/^2026-11-21 14:03:07\.123 [+-]\d\d:\d\d$/);
});

it('shows and reads times in UTC on request', () => {
  const millis = Date.UTC(2026, 10, 21, 23, 59, 7, 123);
  const now = new Date(Date.UTC(2026, 10, 22, 0, 30));
  showTimesIn('utc');
  expect(fullTime(millis * 1e6)).toBe('2026-11-21 23:59:07.123 +00:00');
  expect(time(millis * 1e6, now)).toBe('11-21 23:59:07');
  expect(fromZoned('2026-11-21T23:59:07.123')).toBe(millis);
  showTimesIn('browser');
  expect(fromZoned(zoned(millis))).toBe(millis);
});

it('shows ages in whole seconds', () => {
  expect([7_040, 59_600, null].map(wholeAge)).toEqual(['7 s', '1m 00s', '–']);
});

it('groups counts and scales bytes', () => {
  expect([count(1_234_567), count(null)]).toEqual(['1,234,567', '–']);
  expect([bytes(512), bytes(1536), bytes(23_400_000), bytes(null)]).toEqual([
    '512 B',
    '1.50 KiB',
    '22.3 MiB',
    '–',
  ]);
});

it('shortens ids to their distinctive part', () => {
  expect(shortId('01000000')).toBe('01000000');
  expect(shortId('d5228f1abd82cf4c7ee2c0d315ae18632f5639505a813524')).toBe('d5228f1a…');
  expect(shortId('ffffffffffffffff5c1a2b3c4d5e6f708192a3b401000000')).toBe('…a3b401000000');
  expect(shortId('00ffffffffffffffffffffffffffffffffffffff0100000002e1f505')).toBe('…000002e1f505');
});

it('finds the important line of a message', () => {
  const frames =
    'ray::f() (pid=7)\n  File "a.py", line 3, in f\n    raise ValueError(page)\nValueError: page 3\n';
  expect(headline(`User exception:\n${frames}`)).toBe('ValueError: page 3');
  expect(headline(`${frames}a note\n  that goes on\n`)).toBe('ValueError: page 3');
  expect(headline('The worker died.\nSee its log.')).toBe('The worker died.');
  expect(headline('')).toBe('');
});

it('names a program without its interpreter and folder', () => {
  expect(programName('/usr/bin/python3.11 -u /home/me/train.py --lr 1')).toBe('train.py --lr 1');
  expect(programName('python -m pkg.main -v')).toBe('pkg.main -v');
  expect(programName("python -c 'print(1)'")).toBe("python -c 'print(1)'");
  expect(programName('./run.sh a/b')).toBe('run.sh a/b');
  expect(programName('"/my env/bin/python" "my dir/odd places.py" --x "a b"')).toBe(
    'odd places.py --x "a b"',
  );
  expect(programName("python 'my dir/odd places.py' --x")).toBe('odd places.py --x');
  expect(programName('')).toBe('');
});

it('shortens numbers, and measures times until now', () => {
  expect([short(0.123456), short(1e-7), short(12345), short(true), short('x')]).toEqual([
    '0.1235',
    '1e-7',
    '12345',
    'true',
    'x',
  ]);
  expect(elapsedNs({ start_ns: 1e9, end_ns: null }, 3000)).toBe(2e9);
  expect(short(null)).toBe('–');
});
