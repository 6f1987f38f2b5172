import { screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { keepOperatorToken } from '../../api/client';
import type { PausedTask, PausedTasks } from '../../api/schema';
import { pausedTask } from '../../testing/paused';
import { push } from '../../testing/push';
import { click, failure, render } from '../../testing/render';
import DebuggerPage from './DebuggerPage';

const HOSTILE = '<img src=x onerror=alert(1)>';
const DRIVER = `${'f'.repeat(40)}01000000`;
const TASK = pausedTask();
const LEGACY: PausedTask = {
  ...TASK,
  pause_id: null,
  function: null,
  legacy: {
    key: '1',
    title: 'ray::train',
    address: 'localhost:40000',
    gcs_address: '10.0.0.1:6379',
    traceback: null,
    ended_ns: null,
  },
};

type Answers = NonNullable<Parameters<typeof render>[1]>['answers'];

/** Renders the page of a session with these paused tasks. */
async function open(paused: Partial<PausedTasks>, answers: Answers = {}, query = '') {
  const session = push({
    is_enabled: true,
    limit_s: 900,
    legacy_error: null,
    legacy_left_out: 0,
    items: [],
    ...paused,
  });
  keepOperatorToken('known to this tab');
  return render(<DebuggerPage />, { at: `/s/${session}/debugger${query}`, answers });
}

it('lists the paused tasks', async () => {
  const failed = {
    ...TASK,
    pause_id: 'e'.repeat(16),
    name: HOSTILE,
    error: `ValueError: ${HOSTILE}`,
    state: 'stopped' as const,
    debugger: '10.0.0.7:5000',
    release_ns: (Date.now() + 125_500) * 1e6,
  };
  await open({ items: [TASK, failed] });
  const [first, second] = await screen.findAllByTestId('paused-row');
  for (const text of ['train', 'inner train.py:9', 'breakpoint', 'Waiting', 'no limit', '0.5 CPU', '123'])
    expect(first?.textContent).toContain(text);
  expect(first?.textContent).toMatch(/1m 0[4-9]s/);
  for (const text of [HOSTILE, `ValueError: ${HOSTILE}`, 'Stopped', '10.0.0.7:5000', '2m 0'])
    expect(second?.textContent).toContain(text);
  expect(second?.querySelector('img')).toBeNull();
  expect(screen.getByTestId('table-count').textContent).toBe('2 paused tasks');
  const link = within(first as HTMLElement).getByTestId('paused-task');
  expect(link.getAttribute('href')).toContain(`task=${TASK.task_id}`);
});

it('shows what is unknown until the definition of a task arrives', async () => {
  const task = { ...TASK, name: null, resources: {}, waiters: 0, pid: 0 };
  const answers = { [`/tasks/${TASK.task_id}`]: { attempts: [], parent: null } };
  await open({ items: [task] }, answers, `?item=${TASK.pause_id}`);
  const row = await screen.findByTestId('paused-row');
  expect(row.textContent).toContain('bbbbbbbb');
  expect(row.textContent).toContain('no limit–unknown');
  expect(await screen.findByText('Its caller is not recorded yet.')).toBeTruthy();
});

it('lists a worker without a tracer, to which nobody can attach', async () => {
  const task = { ...TASK, pause_id: null, function: null, file: null, line: null, since_ns: null };
  await open({ items: [task, { ...task, task_id: null, attempt: null, name: null, worker_id: 'e' }] });
  const rows = await screen.findAllByTestId('paused-row');
  expect(rows.map(({ textContent }) => textContent)).toEqual([
    expect.stringContaining('trainunknown (no tracer)unknownWaiting–no limit'),
    expect.stringContaining('unknownunknown (no tracer)unknownWaiting–no limit'),
  ]);
  for (const button of screen.getAllByTestId<HTMLButtonElement>('paused-attach'))
    expect(button.disabled).toBe(true);
  await click(screen.getAllByText('unknown (no tracer)')[1] as HTMLElement);
  expect((await screen.findByTestId('paused-detail')).textContent).toContain('has no tracer');
});

it('lists tasks that wait for Ray’s legacy debugger, to which `ray debug` attaches', async () => {
  const { legacy } = LEGACY;
  const failed: PausedTask = {
    ...LEGACY,
    name: null,
    attempt: null,
    error: `ValueError: ${HOSTILE}`,
    legacy: legacy && { ...legacy, key: '2', title: HOSTILE, traceback: `Traceback\nValueError: ${HOSTILE}` },
  };
  const gone: PausedTask = {
    ...LEGACY,
    state: 'gone',
    resources: {},
    legacy: legacy && { ...legacy, key: '3', ended_ns: 1_700_000_000e9 },
  };
  const answers = { [`/tasks/${TASK.task_id}`]: { attempts: [], parent: null } };
  await open({ items: [LEGACY, failed, gone], legacy_left_out: 4 }, answers);
  const rows = await screen.findAllByTestId('paused-row');
  for (const text of ['train', 'ray debug', 'train.py:9', 'breakpoint', 'Waiting', 'no limit', '0.5 CPU'])
    expect(rows[0]?.textContent).toContain(text);
  expect(rows[1]?.textContent).toContain(HOSTILE);
  expect(document.querySelector('img')).toBeNull();
  expect(rows[2]?.textContent).toContain('Ended––');
  expect(screen.getByTestId('table-count').textContent).toBe('2 paused tasks');
  expect(screen.queryByTestId('paused-attach')).toBeNull();
  expect(screen.getByText(/^4 more tasks/)).toBeTruthy();
  await click(within(rows[0] as HTMLElement).getByText('breakpoint'));
  const detail = await screen.findByTestId('paused-detail');
  expect(detail.textContent).toContain('Run this on the node of the task:');
  expect(within(detail).getByText('ray debug --address 10.0.0.1:6379')).toBeTruthy();
  await click(within(rows[1] as HTMLElement).getByText(`ValueError: ${HOSTILE}`));
  expect(await screen.findByText(/^Traceback/)).toBeTruthy();
  await click(within(rows[2] as HTMLElement).getByText('Ended'));
  expect((await screen.findByTestId('paused-detail')).textContent).toContain('nothing can attach');
});

it('says why tasks of Ray’s legacy debugger are unknown', async () => {
  await open({ legacy_error: { code: 'unheard_of', message: 'It is late.', remedy: 'Wait.' } });
  expect((await screen.findByTestId('legacy-error')).textContent).toContain(
    'legacy debugger. It is late. Wait.',
  );
});

it('explains how a task pauses, and that debuggers are not let in', async () => {
  await open({ is_enabled: false, limit_s: null });
  expect((await screen.findByText('No paused tasks')).parentElement?.textContent).toContain(
    'pip install debugpy',
  );
  expect(screen.getByTestId('debugger-disabled').textContent).toContain('--debugger');
});

it('lets nobody attach if the server lets no debuggers in', async () => {
  await open({ is_enabled: false, limit_s: null, items: [TASK] });
  for (const action of ['attach', 'look', 'release'])
    expect((await screen.findByTestId<HTMLButtonElement>(`paused-${action}`)).disabled).toBe(true);
});

it('shows how to attach', async () => {
  await open({ items: [TASK] });
  await click(await screen.findByTestId('paused-attach'));
  const dialog = await screen.findByRole('dialog');
  expect(dialog.textContent).toContain(`rayscope debug ${TASK.task_id}`);
  await click(screen.getByRole('tab', { name: 'VS Code / Cursor' }));
  expect(dialog.textContent).toContain(`rayscope debug ${TASK.task_id} --port 5678`);
  expect(dialog.textContent).toContain('"remoteRoot": "/home/me"');
  await click(screen.getByRole('tab', { name: 'PyCharm' }));
  expect(dialog.textContent).toContain('127.0.0.1:5678');
});

it('releases a task after a confirmation', async () => {
  const path = `/paused-tasks/${TASK.pause_id}/release`;
  const { requests } = await open({ items: [TASK] }, { [path]: () => new Response(null, { status: 204 }) });
  await click(await screen.findByTestId('paused-release'));
  expect((await screen.findByRole('dialog')).textContent).toContain('Release train?');
  expect(requests.some((request) => request.path === path)).toBe(false);
  await click(screen.getByTestId('act-confirm'));
  await expect.poll(() => requests.find((request) => request.path === path)?.method).toBe('POST');
});

const FRAMES = [
  { frame_id: 1, function: 'breakpoint_hook', file: '/ray/util.py', line: 3 },
  { frame_id: 2, function: 'inner', file: TASK.file, line: 9 },
];

it('shows the stack, source and variables of a paused task', async () => {
  const at = `/paused-tasks/${TASK.pause_id}`;
  const { requests } = await open(
    { items: [TASK] },
    {
      [`${at}/stack`]: { threads: [{ name: 'MainThread', frames: FRAMES }] },
      [`${at}/source`]: { file: TASK.file, first: 8, lines: ['def inner():', HOSTILE] },
      [`${at}/variables`]: ({ body }) =>
        (body as { reference?: number }).reference === 7
          ? { items: [{ name: '0', value: "'part'", type: 'str', reference: 0 }], left_out: 3 }
          : { items: [{ name: 'rows', value: HOSTILE, type: 'list', reference: 7 }], left_out: 0 },
      [`${at}/release`]: () => new Response(null, { status: 204 }),
    },
  );
  await click(await screen.findByTestId('paused-look'));
  await click(await screen.findByTestId('act-confirm'));
  const frames = await screen.findAllByTestId('look-frame');
  expect(frames.map((frame) => frame.getAttribute('aria-current'))).toEqual(['false', 'true']);
  const source = await screen.findByTestId('look-source');
  expect(source.querySelector('[aria-current]')?.textContent).toBe(`9${HOSTILE}`);
  expect((await screen.findByTestId('look-variable')).textContent).toContain(`rows${HOSTILE}list`);
  await click(screen.getByLabelText('Parts of rows'));
  expect((await screen.findByText("'part'")).closest('ul')?.textContent).toContain('3 more not shown');
  await click(frames[0] as HTMLElement);
  const asked = () => requests.filter(({ path }) => path === `${at}/source`).map(({ body }) => body);
  await expect.poll(asked).toEqual([{ frame_id: 2 }, { frame_id: 1 }]);
  await click(screen.getByTestId('look-continue'));
  await expect.poll(() => requests.at(-1)?.path).toBe(`${at}/release`);
});

it('shows the callers of the selected task, and the frames of those that run', async () => {
  const caller = 'e'.repeat(48);
  const attempt = { name: 'outer', func_name: 'outer', state: 'RUNNING', end_ns: null };
  const { requests } = await open(
    { items: [TASK] },
    {
      [`/tasks/${TASK.task_id}`]: { attempts: [], parent: { task_id: caller, name: 'outer', state: null } },
      [`/tasks/${caller}`]: {
        attempts: [{ ...attempt, worker_id: TASK.worker_id }],
        parent: { task_id: DRIVER, name: 'driver', state: 'RUNNING' },
      },
      [`/tasks/${DRIVER}`]: { attempts: [{ ...attempt, name: null, worker_id: null }], parent: null },
      '/flow/stack/frames': {
        problems: [],
        nodes: [
          { node: 'n', frames: [{ id: 'f', kind: 'code', name: 'outer', file: 'train.py', line: 20 }] },
        ],
      },
    },
    `?item=${TASK.pause_id}`,
  );
  const callers = await screen.findAllByTestId('caller');
  expect(callers.map(({ textContent }) => textContent)).toEqual([
    'DriverRunningFrames',
    'outerRunningFrames',
  ]);
  const workers = [`01000000${'f'.repeat(48)}`, TASK.worker_id];
  for (const [at, button] of screen.getAllByTestId('caller-frames').entries()) {
    await click(button);
    expect(await within(callers[at] as HTMLElement).findByText('train.py:20')).toBeTruthy();
    expect(requests.at(-1)?.body).toMatchObject({ workers: [workers[at]] });
  }
});

it('shows why frames are missing', async () => {
  const caller = 'e'.repeat(48);
  await open(
    { items: [TASK] },
    {
      [`/tasks/${TASK.task_id}`]: { attempts: [], parent: { task_id: caller, name: 'outer', state: null } },
      [`/tasks/${caller}`]: {
        attempts: [{ name: 'outer', state: 'RUNNING', end_ns: null, worker_id: TASK.worker_id }],
        parent: null,
      },
      '/flow/stack/frames': () => failure(400, { code: 'unheard_of', message: 'It has ended.' }),
    },
    `?item=${TASK.pause_id}`,
  );
  await click(await screen.findByTestId('caller-frames'));
  expect(await screen.findByText('It has ended.')).toBeTruthy();
});
