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
