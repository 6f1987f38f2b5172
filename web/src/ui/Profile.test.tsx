import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import type { ProfiledWorker, ProfileItem } from '../api/schema';
import { linesAnswer } from '../testing/lines';
import { click, render } from '../testing/render';
import { Profile } from './Profile';

const worker = (parts: Partial<ProfiledWorker>): ProfiledWorker => ({
  worker_id: 'a'.repeat(56),
  node_id: 'b'.repeat(56),
  pid: 7,
  rank: null,
  tool: 'py-spy',
  hz: 100,
  samples: 900,
  native: false,
  taken: 990,
  expected: 1000,
  held_bytes: null,
  seconds: 10.2,
  problem: null,
  ...parts,
});

const profile = (parts: Partial<ProfileItem>): ProfileItem => ({
  profile_id: '1'.repeat(16),
  is_running: false,
  filters: { func_name: 'train' },
  memory: null,
  begin_ns: 1e18,
  end_ns: 1e18 + 1e10,
  workers: [worker({})],
  workers_left_out: 0,
  stacks: [],
  taken_by: null,
  ...parts,
});

const lines = linesAnswer({ samples: 900, attempts: 1, hz: [100], reports: 1, reports_read: 1 });

const held = {
  session: 'session_1',
  bytes: 57 * 2 ** 20,
  allocations: 3,
  lines: [
    {
      file: 'exp.py',
      line: 8,
      function: 'hold',
      self_bytes: 57 * 2 ** 20,
      self_allocations: 3,
      total_bytes: 57 * 2 ** 20,
      total_allocations: 3,
    },
    {
      file: 'exp.py',
      line: 32,
      function: 'train',
      self_bytes: 0,
      self_allocations: 0,
      total_bytes: 50 * 2 ** 20,
      total_allocations: 2,
    },
  ],
  lines_total: 2,
  self_lines_total: 1,
};

const show = (items: ProfileItem[], state = 'ended') =>
  render(<Profile of={{ func_name: 'train' }} canRun />, {
    answers: {
      '/profiles': { session: 'session_1', items },
      '/sessions': { items: [{ session: 'session_1', state }] },
      '/lines': lines,
      '/memory-lines': held,
    },
  });

it('says how the workers were profiled, and why some were not', async () => {
  const problem = { code: 'no_permission', message: 'Not allowed.', remedy: 'Allow it.' };
  await show([
    profile({ profile_id: '2'.repeat(16), filters: { func_name: 'other' } }),
    profile({
      workers: [
        worker({}),
        worker({ tool: 'tracer', hz: 1, taken: null, expected: null, problem }),
        worker({ tool: null, samples: 0, taken: null, expected: null, problem }),
      ],
      workers_left_out: 3,
    }),
  ]);
  const taken = await screen.findByTestId('profile-taken');
  expect(taken.textContent).toContain('1 worker by py-spy, without C frames, 10 missed samples');
  expect(taken.textContent).toContain('1 worker by the tracer, without py-spy');
  expect(taken.textContent).toContain('3 more workers left out');
  expect(screen.getAllByTestId('profile-problem').map((line) => line.textContent)).toEqual([
    '2 workers without py-spy: Not allowed. Allow it.',
  ]);
});

it('profiles the kind of memory that was chosen in the dialog', async () => {
  sessionStorage.setItem('rayscope.operator', 'known');
  const { requests } = await show([], 'live');
  await click(await screen.findByTestId('profile-start'));
  await click(await screen.findByText('Memory not freed'));
  await click(screen.getByTestId('act-confirm'));
  const sent = requests.filter(({ method }) => method === 'POST');
  expect(sent).toMatchObject([{ path: '/profiles', body: { seconds: 10, memory: 'leaks' } }]);
  sessionStorage.removeItem('rayscope.operator');
});

it('shows that a profile is being taken', async () => {
  await show([profile({ is_running: true, workers: [], end_ns: (Date.now() + 60_000) * 1e6 })]);
  expect((await screen.findByTestId('profile-running')).textContent).toMatch(/^Taking samples: \d+ s left$/);
  expect(screen.queryByTestId('profile-taken')).toBeNull();
});

it('groups the workers by equal stacks, and marks those that differ from most', async () => {
  const ids = ['c', 'd', 'e'].map((letter) => letter.repeat(56));
  const group = { phase: 'executing' as const, share: 1, frames_left_out: 0 };
  await show([
    profile({
      workers: ids.map((worker_id, rank) => worker({ worker_id, rank })),
      stacks: [
        { ...group, frames: ['train.py:41 all_reduce'], worker_ids: [ids[2], ids[0]] as string[] },
        { ...group, frames: ['data.py:12 load'], worker_ids: [ids[1]] as string[] },
      ],
      taken_by: 'TrainingRunStalled',
    }),
  ]);
  const [most, odd] = await screen.findAllByTestId('stack-group');
  expect(most?.textContent).toBe('2 ranks: 0, 2100% of their samples, executingtrain.py:41all_reduce');
  expect(odd?.textContent).toBe('1 rank: 1100% of their samples, executingdata.py:12load');
  expect([most?.dataset.odd, odd?.dataset.odd]).toEqual([undefined, 'true']);
  expect(screen.getByTestId('profile-taken').textContent).toContain('taken by the alert TrainingRunStalled');
});

it('shows the lines that hold memory', async () => {
  const problem = { code: 'no_memray', message: 'No memray.', remedy: 'Install it.' };
  const ended = { code: 'profile_gone', message: 'It has ended.', remedy: 'Profile others.' };
  const parts = { hz: null, samples: 0, taken: null, expected: null };
  await show([
    profile({
      memory: 'peak',
      workers: [
        worker({ ...parts, tool: 'memray', held_bytes: 60 * 2 ** 20 }),
        worker({ ...parts, tool: null, problem }),
        worker({ ...parts, tool: 'memray', held_bytes: 0, problem: ended }),
      ],
    }),
  ]);
  const line = await screen.findByTestId('hot-line');
  expect(line.textContent).toContain('exp.py:8');
  expect(line.textContent).toContain('3 allocations · 57.0 MiB');
  expect(screen.getByTestId('memory-sum').textContent).toBe('57.0 MiB in 3 allocations of these functions');
  expect(screen.getByTestId('profile-taken').textContent).toContain(
    'Memory at its peak · 2 workers by memray, 60.0 MiB in all their code',
  );
  expect(screen.getAllByTestId('profile-problem').map((each) => each.textContent)).toEqual([
    '1 worker without memray: No memray. Install it.',
    '1 worker that memray did not detach from: It has ended. Profile others.',
  ]);
  expect(screen.queryByTestId('lines-export')).toBeNull();
});
