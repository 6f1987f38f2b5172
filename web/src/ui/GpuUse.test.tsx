import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { render } from '../testing/render';
import { type GpuFields, GpuUse } from './GpuUse';

it.each([
  ['own', 4e9, '4.00 s (50%) · measured 8.00 s of 20.0 sAt most 1.00 GiB in use on one GPU'],
  [
    'process',
    4e9,
    '4.00 s (50%) · by its process; measured 8.00 s of 20.0 sAt most 1.00 GiB in use on one GPU',
  ],
  ['shared', null, 'Shared: not known'],
  ['unmeasured', null, 'Not measured'],
] as const)('shows the use of a GPU that is %s', async (gpu_scope, gpu_busy_ns, text) => {
  const use: GpuFields = {
    gpu_scope,
    gpu_busy_ns,
    gpu_measured_ns: gpu_busy_ns && 8e9,
    gpu_held_ns: 20e9,
    gpu_memory_peak_bytes: gpu_busy_ns && 2 ** 30,
  };
  await render(<GpuUse use={use} full />);
  expect(screen.getByTitle(/./).textContent).toBe(text);
});
