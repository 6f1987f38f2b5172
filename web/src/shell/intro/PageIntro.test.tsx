import { screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { afterEach, expect, it } from 'vitest';
import { render } from '../../testing/render';
import { type Pages, PagesProvider } from '../pages';
import { PageIntro } from './PageIntro';

afterEach(() => localStorage.clear());

const links = { gantt: { docs: 'reference/ui.md#gantt' }, flame: { docs: '' } };
const intro = (view: keyof typeof links) => (
  <PagesProvider value={{ links } as unknown as Pages}>
    <PageIntro view={view} />
  </PagesProvider>
);

it('explains a page until it is closed there', async () => {
  const { unmount } = await render(intro('gantt'));
  const link = screen.getByRole('link', { name: 'Learn more' });
  expect(link.getAttribute('href')).toBe('/docs/reference/ui.md#gantt');
  await userEvent.click(screen.getByRole('button', { name: 'Do not show again on this page' }));
  expect(screen.queryByTestId('page-intro')).toBeNull();
  unmount();
  await render(intro('gantt'));
  expect(screen.queryByTestId('page-intro')).toBeNull();
  await render(intro('flame'));
  expect(screen.getByTestId('page-intro')).toBeTruthy();
});

it('links to the documentation in the language of the page', async () => {
  await render(intro('gantt'), { language: 'zh' });
  expect(screen.getByRole('link').getAttribute('href')).toBe('/docs/reference/ui.md?lang=zh#gantt');
});
