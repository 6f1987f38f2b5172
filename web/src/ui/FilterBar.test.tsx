import { screen, waitFor, within } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import type { Summary } from '../api/schema';
import { click, pass, press, render } from '../testing/render';
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
const options = () => screen.getAllByRole('option').map((option) => option.textContent);
const chip = (name: string) => screen.getByTestId(`filter-chip-${name}`);

it('adds a filter by keyboard alone: first which one, then its value', async () => {
  await render(<FilterBar summary={SUMMARY} />, { answers: ANSWERS });
  expect(screen.queryByRole('option')).toBeNull();
  screen.getByTestId('filter-add').focus();
  await press('{Enter}');
  await waitFor(() => expect(document.activeElement).toBe(screen.getByRole('combobox', { name: 'Filter' })));
  expect(options()).toEqual(['State', 'Function', 'Node', 'Type', 'Error type']); // there is no job to choose
  await press('func{Enter}');
  expect(await screen.findByRole('combobox', { name: 'Function' })).toBeTruthy();
  expect(options()).toEqual(['leaf', 'branch']);
  await waitFor(() => expect(document.activeElement).toBe(screen.getByRole('combobox')));
  await press('{ArrowDown}{Enter}');
  expect(search()).toEqual({ func_name: 'branch' });
  expect(chip('func_name').textContent).toBe('Functionbranch');
});

it('chooses several states, and takes one out again', async () => {
  await render(<FilterBar summary={SUMMARY} />, { answers: ANSWERS, at: '/s/s1?state=FAILED' });
  await click(within(chip('state')).getByText('Failed'));
  await click(screen.getByRole('option', { name: 'Running' }));
  expect(search()).toEqual({ state: 'FAILED,RUNNING' });
  await click(screen.getByRole('option', { name: 'Failed' }));
  expect(search()).toEqual({ state: 'RUNNING' });
});

it('shows the names of nodes, even of one that is not in the list', async () => {
  await render(<FilterBar summary={SUMMARY} />, { answers: ANSWERS, at: `/s/s1?node_id=${'cd'.repeat(28)}` });
  await click(within(chip('node_id')).getByText(/^cdcd/));
  await screen.findByRole('option', { name: /^head \(abab/ });
});

it('shows filters from a link, and removes them', async () => {
  const at = `/s/s1?actor_id=${'12'.repeat(16)}&caller_task_id=${'f'.repeat(40)}01000000&state=FAILED`;
  await render(<FilterBar summary={SUMMARY} />, { answers: ANSWERS, at });
  expect(chip('caller_task_id').textContent).toContain('Driver');
  await click(screen.getByRole('button', { name: 'Remove this filter: Actor' }));
  expect(screen.queryByTestId('filter-chip-actor_id')).toBeNull();
  expect(Object.keys(search())).toEqual(['state', 'caller_task_id']);
});

it('offers to clear all filters only if there are some', async () => {
  await render(<FilterBar summary={SUMMARY} />, {
    answers: ANSWERS,
    at: '/s/s1?q=leaf&state=FAILED&sort=name',
  });
  await click(screen.getByTestId('clear-filters'));
  expect(search()).toEqual({ sort: 'name' });
  expect(screen.queryByTestId('clear-filters')).toBeNull();
});

it('focuses the search field on /, and searches once the typing pauses', async () => {
  await render(<FilterBar summary={SUMMARY} />, { answers: ANSWERS });
  vi.useFakeTimers();
  await press('/leaf');
  expect(screen.getByTestId<HTMLInputElement>('filter-q').value).toBe('leaf');
  expect(search()).toEqual({});
  await pass(250);
  expect(search()).toEqual({ q: 'leaf' });
});
