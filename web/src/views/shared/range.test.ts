import { describe, expect, it } from 'vitest';
import { formatRange, lengthOf, middleOf, parseRange, rangeOf, spanOf, withEnd } from './range';

const BASE = 1_760_000_000_000_000_000;

describe('a range', () => {
  it('survives a URL to the nanosecond', () => {
    const range = { from: '1760000000000000001', to: '1760000000000000004' };
    expect(parseRange(formatRange(range))).toEqual(range);
    expect(lengthOf(range)).toBe(3);
    expect(middleOf(range)).toBe('1760000000000000002');
  });
  it.each(['', 'rest', '5-5', '6-5', '5', '1-2-3', '-1-5', '99999999999999999999-1'])('is not %j', (text) =>
    expect(parseRange(text)).toBeNull(),
  );
  it('can be drawn in both directions, but not empty', () => {
    const range = rangeOf(BASE, 5e9, 2e9);
    expect(range).toEqual({ from: '1760000002000000000', to: '1760000005000000000' });
    expect(spanOf(BASE, range)).toEqual({ begin: 2e9, end: 5e9 });
    expect(rangeOf(BASE, 2e9, 2e9)).toBeNull();
  });
  it('has ends that can be set one by one', () => {
    const window = { begin: 0, end: 100_000 };
    expect(withEnd(null, window, 'begin', 40_000)).toEqual({ begin: 40_000, end: 100_000 });
    expect(withEnd({ begin: 40_000, end: 100_000 }, window, 'end', 60_000)).toEqual({
      begin: 40_000,
      end: 60_000,
    });
    expect(withEnd({ begin: 40_000, end: 60_000 }, window, 'begin', 70_000)).toEqual({
      begin: 70_000,
      end: 100_000,
    });
    expect(withEnd({ begin: 40_000, end: 60_000 }, window, 'end', 30_000)).toEqual({ begin: 0, end: 30_000 });
  });
});
