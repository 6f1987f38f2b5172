import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import type { TaskItem } from '../api/schema';
import { render } from '../testing/render';
import { PeakMemory } from './PeakMemory';

const MIB = 2 ** 20;

it.each([
  ['own', 300, '300 MiB · 100 MiB at its start'],
  ['shared', 300, '300 MiB * · 100 MiB at its start; shared with attempts that ran beside it in its process'],
  ['off', null, '– · Not measured: switched off (--no-peak-memory)'],
  [null, null, '– · Not measured: it has not ended, it was killed, or its process is not traced'],
] as const)('shows peak memory that is %s', async (memory_scope, peak, text) => {
  const attempt = { peak_memory: peak && peak * MIB, start_memory: peak && 100 * MIB, memory_scope };
  await render(<PeakMemory attempt={attempt as TaskItem} full />);
  expect(screen.getByTitle(/./).textContent).toBe(text);
});
