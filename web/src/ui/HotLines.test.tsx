import { screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { expect, it } from 'vitest';
import type { LinesAnswer, SampledLine } from '../api/schema';
import { linesAnswer } from '../testing/lines';
import { render } from '../testing/render';
import { FunctionLines } from './HotLines';

const line = (parts: Partial<SampledLine>): SampledLine => ({
  file: 'lib/train.py',
  line: 12,
  function: 'step',
  source: null,
  self_samples: 60,
  self_share: 0.6,
  self_points: 9.4,
  native_samples: 0,
  total_samples: 60,
  total_share: 0.6,
  total_points: 9.4,
  ...parts,
});

const answer = (parts: Partial<LinesAnswer>) =>
  linesAnswer({ lines: [line({})], lines_total: 1, self_lines_total: 1, ...parts });

const show = (parts: Partial<LinesAnswer>) =>
  render(<FunctionLines filters={{ func_name: 'train' }} />, { answers: { '/lines': answer(parts) } });

it('shows shares with their uncertainty, native code and phases', async () => {
  await show({
    lines: [
      line({ self_samples: 60, native_samples: 45, source: 'loss.backward()' }),
      line({ file: 'main.py', line: 3, function: 'main', self_samples: 0, self_share: 0 }),
    ],
    phases: [
      { phase: 'executing', samples: 90, share: 0.9, points: 5, native_samples: 45 },
      { phase: 'ray.get', samples: 10, share: 0.1, points: 5, native_samples: 0 },
    ],
  });
  const lines = await screen.findAllByTestId('hot-line');
  expect(lines.map((item) => item.textContent)).toEqual([
    'lib/train.py:12step75% native · 60% ± 10loss.backward()',
  ]);
  const section = screen.getByTestId('function-lines');
  expect(section.textContent).toContain('100 samples at 1 Hz');
  expect(section.textContent).toContain('90% executing · 10% in ray.get');
});

it('exports the samples, and counts the lines that are not listed', async () => {
  const lines = Array.from({ length: 12 }, (_, number) => line({ line: number, self_samples: 1 }));
  await show({ lines, lines_total: 900, self_lines_total: 412 });
  expect(await screen.findAllByTestId('hot-line')).toHaveLength(8);
  expect(screen.getByTestId('function-lines').textContent).toContain('404 more');
  await userEvent.click(screen.getByTestId('lines-export'));
  const entry = await screen.findByTestId('lines-export-pprof');
  expect(entry.getAttribute('href')).toBe(
    '/api/v1/lines/export?format=pprof&session=session_1&func_name=train',
  );
});

it('makes no claim from a few samples', async () => {
  await show({
    samples: 7,
    is_enough: false,
    missing: { code: 'few_samples', message: 'Too few.', remedy: 'More.', params: { samples: 7, least: 20 } },
    lines: [line({ self_samples: 7, self_share: null, self_points: null })],
    phases: [{ phase: 'executing', samples: 7, share: null, points: null, native_samples: 0 }],
  });
  expect((await screen.findByTestId('hot-line')).textContent).toBe('lib/train.py:12step7 samples');
  expect(screen.getByTestId('lines-missing').textContent).toBe('Too few. More.');
  expect(screen.getByTestId('function-lines').textContent).not.toContain('%');
});
