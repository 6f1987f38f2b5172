import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { push } from '../../testing/push';
import { render } from '../../testing/render';
import { TaskDrawer } from './TaskDrawer';

const TASK = 'b'.repeat(48);
const attempt = (number: number) => ({
  attempt: number,
  name: 'train',
  state: 'RUNNING',
  states: [],
  gpus: [],
  duration_ns: null,
  end_ns: null,
});
const DETAIL = {
  task_id: TASK,
  attempts: [attempt(0), attempt(1)],
  parent: null,
  call_path: [],
  children: [],
  spans: [],
  data_in: [],
  data_out: [],
  annotations: [],
  scheduling: [],
  waits_for: [],
};

it('marks an attempt that waits for a debugger', async () => {
  const session = push({ items: [{ pause_id: 'a1', task_id: TASK, attempt: 1 }] });
  const answers = { [`/tasks/${TASK}`]: DETAIL };
  const { unmount } = await render(<TaskDrawer taskId={TASK} />, {
    at: `/s/${session}?task=${TASK}`,
    answers,
  });
  const mark = await screen.findByTestId('task-paused');
  expect(mark.textContent).toBe('Paused');
  expect(mark.getAttribute('href')).toBe(`/s/${session}/debugger?item=a1`);
  unmount();
  await render(<TaskDrawer taskId={TASK} />, { at: `/s/${session}?task=${TASK}&attempt=0`, answers });
  await screen.findByTestId('attempt-tabs');
  expect(screen.queryByTestId('task-paused')).toBeNull();
});
