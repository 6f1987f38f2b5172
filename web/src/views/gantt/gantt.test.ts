import { describe, expect, it } from 'vitest';
import { absolute, relative } from '../shared/span';
import { barAt, nameMatcher, panned, rowIndex, tickLabel, ticksOf, tileOf, within, zoomed } from './gantt';

const SECOND = 1e9;
const HOUR = 3600 * SECOND;

describe('windows', () => {
  it('keep the position under the pointer', () => {
    const window = zoomed({ begin: 0, end: 8 * SECOND }, 0.5, 2 * SECOND);
    expect(window).toEqual({ begin: SECOND, end: 5 * SECOND });
    expect(zoomed(window, 2, 2 * SECOND)).toEqual({ begin: 0, end: 8 * SECOND });
  });
  it('keep the execution visible', () => {
    const whole = { begin: 0, end: 10 * SECOND };
    const far = within({ begin: 100 * SECOND, end: 102 * SECOND }, whole);
    expect(far).toEqual({ begin: 9 * SECOND, end: 11 * SECOND });
    expect(within({ begin: -1e15, end: 1e15 }, whole).end).toBe(7.5 * SECOND);
  });
  it('survive a URL', () => {
    const base = 1_760_000_000_000_000_000;
    expect(absolute(base, 1500)).toBe('1760000000000001500');
    expect(relative(base, '1760000000000001500')).toBe(1500);
    expect(relative(base, 'soon')).toBeNull();
  });
});

describe('tiles', () => {
  it('cover the window and are the same for small moves', () => {
    const window = { begin: 3.1 * SECOND, end: 4 * SECOND };
    const tile = tileOf(window, 1200);
    expect(tile.begin).toBeLessThan(window.begin);
    expect(tile.end).toBeGreaterThan(window.end);
    expect(tileOf(panned(window, SECOND / 50), 1200)).toEqual(tile);
    expect((tile.end - tile.begin) / (window.end - window.begin)).toBeLessThan(6);
    expect(tile.width).toBeLessThanOrEqual(8192);
    // The resolution is at least that of the screen.
    expect((tile.end - tile.begin) / tile.width).toBeLessThanOrEqual((2 ** 30 / 1200) * 1.01);
  });
});

describe('ticks', () => {
  it.each([
    [1e6, '200 µs'],
    [SECOND, '200 ms'],
    [600 * SECOND, '0:02:00'],
    [40 * HOUR, '8:00:00'],
    [6 * 24 * HOUR, '1d'],
    [417 * 24 * HOUR, '100d'],
  ])('are round and readable in a window of %d ns', (length, first) => {
    const { step, at } = ticksOf({ begin: 0, end: length }, 600);
    expect(at.length).toBeGreaterThan(2);
    expect(at.length).toBeLessThan(9);
    expect(tickLabel(at[1] as number, step)).toBe(first);
  });
  it('distinguish neighbours far from the beginning', () => {
    const begin = 100 * SECOND;
    const { step, at } = ticksOf({ begin, end: begin + 1e6 }, 900);
    const labels = at.map((tick) => tickLabel(tick, step));
    expect(new Set(labels).size).toBe(labels.length);
  });
  it('have one format along an axis', () => {
    const at = [0, 60, 120, 180].map((seconds) => seconds * SECOND);
    expect(at.map((tick) => tickLabel(tick, 60 * SECOND, 180 * SECOND))).toEqual([
      '0:00:00',
      '0:01:00',
      '0:02:00',
      '0:03:00',
    ]);
    expect(tickLabel(SECOND / 2, SECOND / 2, 2 * SECOND)).toBe('0.5 s');
  });
  it.each([
    [50 * HOUR, 8 * HOUR, '2d 2:00'],
    [-50 * HOUR, 8 * HOUR, '-2d 2:00'],
    [50 * HOUR + 61 * SECOND, SECOND, '2d 2:01:01'],
    [50 * HOUR + 61.5 * SECOND, SECOND / 2, '2d 2:01:01.5'],
    [3 * HOUR, 60 * SECOND, '3:00:00'],
  ])('at %d ns are told as a clock does, after whole days', (at, step, label) => {
    expect(tickLabel(at, step)).toBe(label);
  });
});

it('finds the bar at a point', () => {
  const bars = { lane: [0, 0, 1], row: [0, 0, 0], begin: [50, 0, 0], end: [60, 10, 99] };
  const row = rowIndex(bars).get('0:0');
  expect(row).toEqual([1, 0]);
  expect(barAt(bars, row, 55, 5)).toBe(0);
  expect(barAt(bars, row, 14, 5)).toBe(1);
  expect(barAt(bars, row, 30, 5)).toBe(-1);
});

it('names are found by any part, ignoring case', () => {
  expect(nameMatcher(' LeA ')?.('my_leaf')).toBe(true);
  expect(nameMatcher('twig')?.('my_leaf')).toBe(false);
  expect(nameMatcher('  ')).toBeNull();
});
