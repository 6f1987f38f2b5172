import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { click, failure, press, render } from '../../testing/render';
import SqlPage from './SqlPage';

const posted = (requests: { path: string; body: unknown }[]) =>
  requests.filter(({ path }) => path === '/sql').map(({ body }) => body);

it('runs a query from a link only on request, and can cancel it', async () => {
  const { requests } = await render(<SqlPage />, { at: '/s/session_1/sql?sql=FROM+nodes' });
  expect(screen.getByTestId('sql-note').textContent).toContain('comes from a link');
  expect(posted(requests)).toEqual([]);
  await click(screen.getByTestId('sql-query'));
  await press('{Control>}{Enter}{/Control}');
  expect(posted(requests)).toEqual([{ sql: 'FROM nodes', session: 'session_1', limit: 10_000 }]);
  await click(await screen.findByTestId('sql-cancel'));
  expect((await screen.findByTestId('sql-note')).textContent).toBe('Query canceled.');
  expect(screen.getByTestId('sql-run')).toBeTruthy();
});

it('shows the error in a query and a remedy', async () => {
  const message = 'Binder Error: no column x\n\nLINE 1: SELECT x\n               ^';
  await render(<SqlPage />, {
    at: '/s/session_1/sql?sql=SELECT+x',
    answers: { '/sql': () => failure(400, { code: 'bad_query', message, remedy: 'DESCRIBE tasks' }) },
  });
  await click(screen.getByTestId('sql-run'));
  const problem = await screen.findByTestId('sql-error');
  expect(problem.querySelector('pre')?.textContent).toBe(message);
  expect(problem.textContent).toContain('DESCRIBE tasks');
});
