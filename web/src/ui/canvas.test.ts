import { expect, it } from 'vitest';
import { namedColor } from './canvas';

it('gives names that are visible together different colours', () => {
  const names = Array.from({ length: 40 }, (_, at) => `Scorer${at}.__init__`);
  for (const scheme of ['light', 'dark'] as const) {
    const colors = names.map((name) => namedColor(name, scheme));
    expect(new Set(colors).size).toBe(names.length);
    expect(names.map((name) => namedColor(name, scheme))).toEqual(colors);
  }
});
