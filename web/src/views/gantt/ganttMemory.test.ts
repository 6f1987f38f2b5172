import { expect, it } from 'vitest';
import { memoryFill } from './ganttMemory';

it.each(['light', 'dark'] as const)(
  'has a stronger color for more memory, and gray for unknown (%s)',
  (scheme) => {
    const lightness = (peak: number) => Number(/ ([\d.]+)%\)$/.exec(memoryFill(peak, 100, scheme))?.[1]);
    const steps = [0, 25, 50, 100].map(lightness);
    const sorted = steps.toSorted((a, b) => (scheme === 'light' ? b - a : a - b));
    expect(steps).toEqual(sorted);
    expect(new Set(steps).size).toBe(4);
    // A bar that is newer than the largest peak of all lanes has the strongest color.
    expect(memoryFill(130, 100, scheme)).toBe(memoryFill(100, 100, scheme));
    const unknown = memoryFill(null, 100, scheme);
    expect(unknown).toMatch(/^hsl\(0 0%/);
    expect(memoryFill(null, null, scheme)).toBe(unknown);
    expect(memoryFill(0, 100, scheme)).not.toBe(unknown);
  },
);
