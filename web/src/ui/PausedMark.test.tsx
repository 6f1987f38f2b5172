import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { pausedTask } from '../testing/paused';
import { push } from '../testing/push';
import { render } from '../testing/render';
import { PausedMark, usePausedTasks } from './PausedMark';

function All() {
  return <PausedMark tasks={usePausedTasks()}>here</PausedMark>;
}

async function markOf(...items: ReturnType<typeof pausedTask>[]) {
  const session = push({ items });
  const { unmount } = await render(<All />, { at: `/s/${session}/gantt` });
  const href = (await screen.findByTestId('paused-mark')).getAttribute('href');
  unmount();
  return href?.replace(session, 'S');
}

it('links to the paused task, or to the list of several', async () => {
  expect(await markOf(pausedTask({ pause_id: 'a1' }))).toBe('/s/S/debugger?item=a1');
  expect(await markOf(pausedTask({ pause_id: 'a1' }), pausedTask({ pause_id: 'a2' }))).toBe('/s/S/debugger');
});

it('is not of tasks of which one waits, but not known which', async () => {
  expect(await markOf(pausedTask({ pause_id: null }), pausedTask({ pause_id: 'a1' }))).toBe(
    '/s/S/debugger?item=a1',
  );
});

it('is of tasks that wait for Ray’s legacy debugger, unless their process has ended', async () => {
  const legacy = { key: 'k1', title: null, address: null, gcs_address: '', traceback: null, ended_ns: null };
  const waiting = pausedTask({ pause_id: null, legacy });
  expect(await markOf(waiting, pausedTask({ pause_id: null, legacy, state: 'gone' }))).toBe(
    '/s/S/debugger?item=k1',
  );
});
