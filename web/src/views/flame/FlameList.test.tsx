import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import type { FlameFrame } from '../../api/schema';
import { render } from '../../testing/render';
import { FlameList } from './FlameList';

const frame = (name: string, value: number) =>
  ({ id: name, parent: 'top', name, kind: 'call', value }) as FlameFrame;
const FRAMES = [frame('less', 60), frame('nothing', 0), frame('more', 90)];

it('has the largest first, each with a line such as its peak memory', async () => {
  await render(
    <FlameList
      title="Below"
      testId="list"
      items={FRAMES}
      whole={150}
      text={String}
      onPick={() => undefined}
      note={(one) => `max ${one.name}`}
    />,
  );
  const texts = screen.getAllByRole('button').map(({ textContent }) => textContent);
  expect(texts).toEqual(['more9060%max more', 'less6040%max less']);
});
