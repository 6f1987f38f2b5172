import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import type { Death } from '../../api/schema';
import { render } from '../../testing/render';
import { AlertCause } from './AlertCause';

const death = (is_expected: boolean, message: string): Death => ({
  kind: 'worker',
  id: 'b'.repeat(56),
  end_ns: 1e18,
  cause: 'nothing known here',
  is_expected,
  chain: [
    {
      code: 'nothing known here',
      kind: 'worker',
      id: 'b'.repeat(56),
      params: {},
      message,
      source: 'kernel',
      time_ns: 1e18,
    },
  ],
  candidates: [],
  missing: null,
  process: null,
  memory_bytes: null,
  ray: null,
});

it('shows the last death that was not meant to happen, for alerts about a class of actors', async () => {
  const items = [death(true, 'Its job had ended.'), death(false, 'It crashed.'), death(false, 'Earlier.')];
  const answers = { '/deaths': { session: 's', total: 3, left_out: 0, items } };
  await render(<AlertCause labels={{ class_name: 'Flaky' }} />, { answers });
  const text = (await screen.findByTestId('alert-cause')).textContent;
  expect(text).toContain('It crashed.');
  expect(text).not.toContain('Its job');
});
