import { screen, waitFor, within } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import { activeKeys } from '../../base/keys';
import { press, render } from '../../testing/render';
import { KeyHelpButton } from '../keys/KeyHelpButton';
import { PaletteButton } from './PaletteButton';

// Load them up front, so that they open immediately.
await Promise.all([import('./Palette'), import('../keys/KeyHelp')]);

const TASK = `${'1'.repeat(16)}${'f'.repeat(24)}01000000`;
const blank = { detail: null, state: null, attempt: null, node_id: null };
const ANSWERS = {
  '/find': {
    session: 's1',
    groups: [
      {
        kind: 'task',
        total: 7,
        items: [{ ...blank, id: TASK, name: 'load', state: 'FAILED', attempt: 2 }],
      },
      { kind: 'metric', total: 1, items: [{ ...blank, id: 'ray_loads', name: 'ray_loads' }] },
    ],
  },
  '/sessions': {
    items: [{ session: 's2', name: 'loading.py', tags: [], host: 'box', state: 'ended' }],
    next: null,
    total: 1,
  },
  '/summary': {
    failures: [{ task_id: TASK, attempt: 0, name: 'broke', error_type: 'X', error_summary: 'KeyError: 1' }],
  },
};
const options = () => screen.getAllByRole('option').map((option) => option.textContent);

it('finds by keyboard alone, and opens the hit on its page', async () => {
  const { requests } = await render(<PaletteButton />, {
    at: '/s/s1/gantt?job_id=01000000',
    answers: ANSWERS,
  });
  await press('{Control>}k{/Control}');
  const field = await screen.findByRole('combobox', { name: 'Find anything' });
  await waitFor(() => expect(document.activeElement).toBe(field));
  vi.useFakeTimers();
  await press('load');
  await waitFor(() => expect(options()).toContain('View all 7'));
  expect(options().map((text) => text?.replace(/….*/, ''))).toEqual(
    [
      'load', // followed by its id
      'View all 7',
      'ray_loads',
      'loading.py',
      'Search log lines for “load”',
    ].map((text) => (/^load/.test(text) ? expect.stringMatching(`^${text}`) : text)),
  );
  expect(requests.filter(({ path }) => path === '/find').map(({ params }) => params)).toEqual([
    { session: 's1', q: 'load' },
  ]);
  await press('{ArrowDown}{ArrowUp}{Enter}');
  expect(window.location.pathname + window.location.search).toBe(`/s/s1?q=${TASK}&task=${TASK}&attempt=2`);
  expect(screen.queryByRole('combobox')).toBeNull();
  await press('{Control>}k{/Control}');
  const recent = await screen.findByRole('group', { name: 'Recent' });
  expect(within(recent).getByRole('option').textContent).toMatch(/^load/);
});

it('offers the latest failures and the pages before anything is typed', async () => {
  await render(<PaletteButton />, { at: '/s/s1', answers: ANSWERS });
  await press('{Control>}k{/Control}');
  const failures = await screen.findByRole('group', { name: 'Latest failures' });
  expect(within(failures).getByRole('option').textContent).toMatch(/^brokeKeyError: 1/);
  await press('{Enter}');
  expect(window.location.search).toBe(`?q=${TASK}&task=${TASK}&attempt=0`);
});

it('loses no key that is typed while it opens, and offers actions of a live session', async () => {
  const live = { ...ANSWERS['/sessions'].items[0], session: 's1', state: 'live' };
  await render(<PaletteButton />, {
    at: '/s/s1',
    answers: { ...ANSWERS, '/sessions': { items: [live], next: null, total: 1 } },
  });
  await press('{Control>}k{/Control}sub');
  const field = await screen.findByRole('combobox', { name: 'Find anything' });
  expect((field as HTMLInputElement).value).toBe('sub');
  await waitFor(() => expect(options()[0]).toBe('Submit a job'));
  await press('{Enter}');
  expect(window.location.pathname + window.location.search).toBe('/s/s1/jobs?form=1');
});

it('lists the active keys on ?', async () => {
  await render(
    <>
      <PaletteButton />
      <KeyHelpButton />
    </>,
  );
  await press('?');
  const help = await screen.findByRole('dialog', { name: 'Keyboard shortcuts' });
  expect(
    within(help)
      .getAllByRole('term')
      .map((key) => key.textContent),
  ).toEqual(['Ctrl+K', '?']);
  expect(activeKeys().map(({ title }) => title)).toEqual(['Anywhere']);
});
