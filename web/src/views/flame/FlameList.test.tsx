import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import type { FlameFrame } from '../../api/schema';
import { render } from '../../testing/render';
import { FlameList } from './FlameList';

const frame = (name: string, value: number, baseline: number) =>
  ({ id: name, parent: 'top', name, kind: 'call', value, baseline_value: baseline }) as FlameFrame;
const FRAMES = [frame('same', 90, 90), frame('nothing', 0, 0), frame('gone', 0, 30), frame('more', 60, 10)];
const list = (
  change?: (one: FlameFrame) => { by: number; text: string },
  note?: (one: FlameFrame) => string,
) => (
  <FlameList
    title="Below"
    testId="list"
    items={FRAMES}
    whole={150}
    text={String}
    onPick={() => undefined}
    change={change}
    note={note}
  />
);
const names = () =>
  screen
    .getAllByRole('button')
    .map((button) => FRAMES.find((one) => button.textContent.includes(String(one.name)))?.name);

it('has the largest first, and the largest change where two are compared', async () => {
  const { rerender } = await render(list());
  expect(names()).toEqual(['same', 'more', 'gone']);
  rerender(list((one) => ({ by: one.value - (one.baseline_value ?? 0), text: '' })));
  expect(names()).toEqual(['more', 'gone', 'same']);
});

it('adds a line to each frame, such as its peak memory', async () => {
  await render(list(undefined, (one) => `max ${one.name}`));
  expect(screen.getAllByRole('button')[1]?.textContent).toContain('max more');
});
