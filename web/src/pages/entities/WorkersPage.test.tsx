import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { click, render } from '../../testing/render';
import WorkersPage from './WorkersPage';

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
  running: 0,
  attempts: [],
  gpus: [],
  ...more,
});
const AGO = (Date.now() - 90_500) * 1e6;
const attempt = (name: string, more: object) => ({
  task_id: 'ab'.repeat(24),
  attempt: 0,
  name,
  type: 'ACTOR_TASK',
  situation: 'running',
  since_ns: null,
  situation_ns: null,
  call: null,
  blocked_on: [],
  is_traced: true,
  ...more,
});
const WORKERS = [
  worker(1111, { functions: ['clean', 'load'], functions_total: 5 }),
  worker(2222, {
    actor_class: 'Board',
    running: 2,
    attempts: [attempt('Board.play', { since_ns: AGO })],
    gpus: [
      { index: '0', share: 1 },
      { index: '1', share: 0.5 },
    ],
  }),
  worker(3333, { worker_type: 'DRIVER', state: 'DEAD' }),
  worker(4444, {
    gpus: [{ index: null, share: 0.5 }],
    attempts: [attempt('Board.rest', { since_ns: AGO, is_traced: false })],
  }),
  worker(5555, {
    worker_type: 'DRIVER',
    attempts: [
      attempt('nightly.py', {
        type: 'DRIVER_TASK',
        situation: 'blocked',
        situation_ns: AGO,
        call: 'ray.get',
        blocked_on: [{ name: 'clean', count: 3, task_id: 'ab' }],
      }),
    ],
  }),
];
const answers = {
  '/workers': { items: WORKERS, next: null, total: 5, internal_hidden: 0 },
  '/jobs': { items: [JOB], next: null, total: 1, internal_hidden: 0 },
  '/nodes': { items: [], next: null, total: 0, internal_hidden: 0 },
  '/sessions': { items: [], next: null, total: 0 },
  '/logs/of': { notes: [], parts: [], left_out: 0, live: false },
};

it('names workers by what ran in them and jobs by their script, without empty columns', async () => {
  const { requests } = await render(<WorkersPage />, { answers, at: '/s/session_1/workers' });
  const rows = await screen.findAllByTestId('workers-row');
  await screen.findAllByText('nightly.py --all');
  const cells = (column: string) =>
    rows.map((row) => row.querySelector(`[data-column=${column}]`)?.textContent);
  const driver = 'Driver nightly.py';
  expect(cells('name')).toEqual(['clean, load +3', 'Board', driver, 'Ran nothing', driver]);
  expect(cells('job_id')).toEqual(Array(5).fill('nightly.py --all'));
  expect(cells('state')).toEqual(['Alive', 'Alive', 'Dead', 'Alive', 'Alive']);
  expect(cells('worker_type')).toEqual(['worker', 'worker', 'driver', 'worker', 'driver']);
  expect(cells('exit_detail')).toEqual(Array(5).fill(undefined));
  expect(cells('running')).toEqual([
    'Idle',
    expect.stringMatching(/^Board.play\+11m 3\ds$/),
    '–',
    expect.stringMatching(/^Board.restOr blocked: not traced · 1m 3\ds$/),
    expect.stringMatching(/^nightly.pyBlocked on clean ×3 · 1m 3\ds$/),
  ]);
  const gpus = ['–', 'GPU 0, 0.5 of GPU 1', '–', '0.5 GPU, index unknown', '–'];
  expect(cells('gpus')).toEqual(gpus);
  expect(requests.find(({ path }) => path === '/workers')?.params.sort).toBe('-start_ns');
  await click(rows[1] as Element);
  expect((await screen.findByTestId('item-drawer')).textContent).toContain('Board · PID 2222');
});
