import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import type { Item } from '../../api/types';
import { render } from '../../testing/render';
import { ActorDetail } from './EntityDetails';

const ACTOR = { actor_id: 'a'.repeat(32), state: 'DEAD', worker_id: 'b'.repeat(56) };

it('ends the history of an actor with a death that was inferred', async () => {
  const history = [
    { time_ns: 1e18, state: 'ALIVE' },
    { time_ns: 1e18 + 9e9, state: 'DEAD', end_known_by: 'session' },
  ];
  await render(<ActorDetail actor={ACTOR as unknown as Item} />, {
    answers: { [`/actors/${ACTOR.actor_id}`]: { ...ACTOR, history } },
  });
  const steps = (await screen.findByTestId('item-history')).querySelectorAll('li');
  expect([...steps].map(({ textContent }) => textContent?.replace(/[\d:. -]+/, ''))).toEqual([
    'Alive',
    'DeadInferred: its cluster ended',
  ]);
});

it('says for each restart why the previous worker ended', async () => {
  const worker = 'c'.repeat(56);
  const cause = {
    code: 'crashed',
    kind: 'worker',
    id: worker,
    params: { pid: 7, signal: 'SIGSEGV' },
    message: 'The process (pid 7) crashed with SIGSEGV.',
    source: 'kernel',
    time_ns: 1e18,
  };
  const history = [
    { time_ns: 1e18, state: 'RESTARTING', message: 'SYSTEM_ERROR', ended_worker_id: worker, causes: [cause] },
    {
      time_ns: 1e18 + 1,
      state: 'RESTARTING',
      message: 'SYSTEM_ERROR',
      ended_worker_id: 'd'.repeat(56),
      causes: [],
    },
  ];
  await render(<ActorDetail actor={ACTOR as unknown as Item} />, {
    answers: { [`/actors/${ACTOR.actor_id}`]: { ...ACTOR, history } },
  });
  const steps = (await screen.findByTestId('item-history')).querySelectorAll('li');
  expect(steps[0]?.textContent).toContain('The process (pid 7) crashed with SIGSEGV.');
  expect(steps[1]?.textContent).toContain('SYSTEM_ERROR');
});
