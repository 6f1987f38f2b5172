import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { click, type Request, render, type } from '../../testing/render';
import type { Dashboard } from '../../ui/charts/boards';
import { DashboardEditor } from './DashboardEditor';

const ANSWERS = {
  '/dashboards': { items: [{ name: 'my-queues', title: 'Mine', charts_total: 1, changed_ns: 1 }] },
};
const puts = (requests: Request[]) => requests.filter(({ method }) => method === 'PUT');
const save = () => click(screen.getByTestId('board-save'));
const titles = () => screen.getAllByTestId<HTMLInputElement>('chart-title').map((field) => field.value);

it('saves a new dashboard under a unique name, once nothing is missing', async () => {
  const saved: Request[] = [];
  await render(<DashboardEditor />, {
    answers: {
      ...ANSWERS,
      '/dashboards/my-queues-2': (request: Request) => {
        saved.push(request);
        return {};
      },
    },
    at: '/s/session_1/metrics?board=new',
  });
  expect(screen.queryByText(/needs a/)).toBeNull();
  await save();
  expect(screen.getByText('The dashboard needs a title')).toBeTruthy();
  await type(screen.getByTestId('board-title'), 'My queues ');
  expect(screen.getByRole('alert').textContent).toBe('Every chart needs a title');
  await type(screen.getByTestId('chart-title'), 'All');
  expect(screen.getByRole('alert').textContent).toBe('Every chart needs an expression');
  await type(screen.getByTestId('chart-expr'), ' sum(my_queue) ');
  expect(screen.queryByRole('alert')).toBeNull();
  sessionStorage.setItem('rayscope.operator', 'known');
  await save();
  await click(await screen.findByTestId('act-confirm'));
  expect(saved.map(({ method, body }) => ({ method, body }))).toEqual([
    {
      method: 'PUT',
      body: {
        title: 'My queues',
        charts: [{ title: 'All', queries: [{ expr: 'sum(my_queue)' }], unit: '', width: 1 }],
      },
    },
  ]);
  expect(window.location.search).toBe('?board=d.my-queues-2');
});

const BOARD: Dashboard = {
  name: 'my-queues',
  title: 'Mine',
  charts: ['one', 'two', 'three'].map((title) => ({ title, queries: [{ expr: title }], unit: '', width: 1 })),
};

it('moves and removes charts, and adds one at the end', async () => {
  const { requests } = await render(<DashboardEditor board={BOARD} />, { answers: ANSWERS });
  const [up, ,] = screen.getAllByTestId<HTMLButtonElement>('chart-up');
  expect(up?.disabled).toBe(true);
  expect(screen.getAllByTestId<HTMLButtonElement>('chart-down').at(-1)?.disabled).toBe(true);
  await click(screen.getAllByTestId('chart-up')[2] as HTMLElement);
  expect(titles()).toEqual(['one', 'three', 'two']);
  await click(screen.getAllByTestId('chart-remove')[0] as HTMLElement);
  await click(screen.getByTestId('board-add-chart'));
  expect(titles()).toEqual(['three', 'two', '']);
  await save();
  expect(screen.getByRole('alert').textContent).toBe('Every chart needs a title');
  expect(puts(requests)).toEqual([]);
});
