import { screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { afterEach, expect, it } from 'vitest';
import { render } from '../../testing/render';
import { PageIntro } from './PageIntro';

afterEach(() => localStorage.clear());

it('explains a page until it is closed there', async () => {
  const { unmount } = await render(<PageIntro view="gantt" />);
  const link = screen.getByRole('link', { name: 'Learn more' });
  expect(link.getAttribute('href')).toBe('/docs/reference/ui.md#gantt');
  await userEvent.click(screen.getByRole('button', { name: 'Do not show again on this page' }));
  expect(screen.queryByTestId('page-intro')).toBeNull();
  unmount();
  await render(<PageIntro view="gantt" />);
  expect(screen.queryByTestId('page-intro')).toBeNull();
  await render(<PageIntro view="flame" />);
  expect(screen.getByTestId('page-intro')).toBeTruthy();
});
