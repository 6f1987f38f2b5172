import { screen } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import { press, render } from '../testing/render';
import { Drawer } from './Drawer';

it('takes the focus when it opens, has a heading, and closes by key', async () => {
  const onClose = vi.fn();
  await render(
    <Drawer testId="panel" title="leaf" onClose={onClose}>
      text
    </Drawer>,
  );
  expect(document.activeElement).toBe(screen.getByTestId('panel'));
  expect(screen.getByRole('heading', { level: 2 }).textContent).toBe('leaf');
  await press('{Escape}');
  expect(onClose).toHaveBeenCalledTimes(1);
});
