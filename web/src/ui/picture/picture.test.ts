import { expect, it } from 'vitest';
import { withCaption } from './picture';

it('puts the caption above the drawing, wide enough to be read, whatever it says', () => {
  const caption = { title: 'Flame <graph>', lines: ['a.py', '04:00 – 05:00'] };
  const made = withCaption(caption, { svg: '<svg id="x"/>', width: 100, height: 50 }, 'dark');
  expect(made.svg).toContain('Flame &lt;graph&gt;');
  expect(made.svg).toContain('04:00 – 05:00');
  expect(made.svg).toContain('fill="#14171c"'); // background of the dark theme
  const top = Number(/<svg y="(\d+)"/.exec(made.svg)?.[1]);
  expect(made).toMatchObject({ width: 520, height: top + 50 });
});
