import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { click, render } from '../../testing/render';
import { WorkersPage } from './WorkersPage';

const JOB = { job_id: '01000000', entrypoint: 'python -u nightly.py --all', submission_id: null };
const worker = (pid: number, more: object) => ({
  worker_id: `${pid}`.repeat(14),
  state: 'ALIVE',
  worker_type: 'WORKER',
  pid,
  job_id: JOB.job_id,
  gpu_memory_bytes: null,
  exit_detail: null,
  actor_class: null,
  actor_name: null,
  functions: [],
  functions_total: 0,
  script: 'nightly.py',
  ...more,
});
const WORKERS = [
  worker(1111, { functions: ['clean', 'load'], functions_total: 5 }),
  worker(2222, { actor_class: 'Board' }),
  worker(3333, { worker_type: 'DRIVER', state: 'DEAD' }),
  worker(4444, {}),
];
const answers = {
  '/workers': { items: WORKERS, next: null, total: 4, internal_hidden: 0 },
  '/jobs': { items: [JOB], next: null, total: 1, internal_hidden: 0 },
  '/nodes': { items: [], next: null, total: 0, internal_hidden: 0 },
  '/sessions': { items: [], next: null, total: 0 },
  '/logs/of': { notes: [], parts: [], left_out: 0, live: false },
};

it('names workers by what ran in them and jobs by their script, without columns that nothing is in', async () => {
  const { requests } = await render(<WorkersPage />, { answers, at: '/s/session_1/workers' });
  const rows = await screen.findAllByTestId('workers-row');
  await screen.findAllByText('nightly.py --all');
  const cells = (column: string) =>
    rows.map((row) => row.querySelector(`[data-column=${column}]`)?.textContent);
  expect(cells('name')).toEqual(['clean, load +3', 'Board', 'Driver nightly.py', 'Ran nothing']);
  expect(cells('job_id')).toEqual(Array(4).fill('nightly.py --all'));
  expect(cells('state')).toEqual(['Alive', 'Alive', 'Dead', 'Alive']);
  expect(cells('worker_type')).toEqual(['worker', 'worker', 'driver', 'worker']);
  expect(cells('exit_detail')).toEqual(Array(4).fill(undefined));
  expect(requests.find(({ path }) => path === '/workers')?.params.sort).toBe('-start_ns');
  await click(rows[1] as Element);
  expect((await screen.findByTestId('item-drawer')).textContent).toContain('Board · PID 2222');
});
