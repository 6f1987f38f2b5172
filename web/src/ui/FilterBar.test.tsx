import { screen, waitFor, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import type { Summary } from '../api/types';
import { click, press, render } from '../testing/render';
import { FilterBar } from './FilterBar';

const SUMMARY = {
  functions: [{ func_name: 'leaf' }, { func_name: 'branch' }, { func_name: null }],
  failures: [],
} as unknown as Summary;
const ANSWERS = {
  '/nodes': { items: [{ node_id: 'ab'.repeat(28), node_name: 'head' }], next: null, total: 1 },
  '/jobs': { items: [], next: null, total: 0 },
};
const search = () => Object.fromEntries(new URLSearchParams(window.location.search));

it('filters by a function of the session', async () => {
  await render(<FilterBar summary={SUMMARY} />, { answers: ANSWERS });
  await click(screen.getByTestId('filter-func_name'));
  const field = screen.getByTestId('filter-func_name');
  const list = document.getElementById(field.getAttribute('aria-controls') ?? '') as HTMLElement;
  const choices = within(list).getAllByRole('option');
  expect(choices.map((option) => option.textContent)).toEqual(['leaf', 'branch']);
  await click(screen.getByRole('option', { name: 'branch' }));
  expect(search()).toEqual({ func_name: 'branch' });
});

it('names nodes, and keeps one that is not in the list', async () => {
  await render(<FilterBar summary={SUMMARY} />, { answers: ANSWERS, at: `/s/s1?node_id=${'cd'.repeat(28)}` });
  await click(screen.getByTestId('filter-node_id'));
  await screen.findByRole('option', { name: /^head \(abab/ });
  expect(screen.getByTestId<HTMLInputElement>('filter-node_id').value).toMatch(/^cdcd/);
});

it('shows the filters that came with a link as tags, each of which can be removed', async () => {
  const at = `/s/s1?actor_id=${'12'.repeat(16)}&caller_task_id=${'f'.repeat(40)}01000000&state=FAILED`;
  await render(<FilterBar summary={SUMMARY} />, { answers: ANSWERS, at });
  expect(screen.getByTestId('filter-tag-caller_task_id').textContent).toContain('Driver');
  expect(screen.queryByTestId('filter-tag-state')).toBeNull();
  await click(within(screen.getByTestId('filter-tag-actor_id')).getByRole('button'));
  expect(screen.queryByTestId('filter-tag-actor_id')).toBeNull();
  expect(Object.keys(search())).toEqual(['state', 'caller_task_id']);
});

it('clears all filters at once, and only where there are some', async () => {
  await render(<FilterBar summary={SUMMARY} />, {
    answers: ANSWERS,
    at: '/s/s1?q=leaf&state=FAILED&sort=name',
  });
  const clear = screen.getByTestId('clear-filters');
  expect(clear.style.visibility).toBe('visible');
  await click(clear);
  expect(search()).toEqual({ sort: 'name' });
  expect(clear.style.visibility).toBe('hidden');
});

it('goes to the search field by /, and searches once the typing pauses', async () => {
  await render(<FilterBar summary={SUMMARY} />, { answers: ANSWERS });
  await press('/leaf');
  expect(screen.getByTestId<HTMLInputElement>('filter-q').value).toBe('leaf');
  expect(search()).toEqual({});
  await waitFor(() => expect(search()).toEqual({ q: 'leaf' }));
});
