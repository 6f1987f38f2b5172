import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import type { CompareAnswer, ComparedLines } from '../../api/schema';
import { render } from '../../testing/render';
import { Lines } from './Lines';

const side = { runs: [{ session: 'session_1', job_id: '01000000' }] };
const answer = {
  a: side,
  b: side,
  functions: [
    { name: 'gone', a: {}, b: null },
    { name: 'fit', a: {}, b: {}, renamed_from: null },
  ],
} as unknown as CompareAnswer;

const show = (lines: ComparedLines) =>
  render(<Lines answer={answer} />, { answers: { '/compare/lines': lines } });

it('shows the shares of both sides and whether they differ', async () => {
  const line = { file: 'train.py', line: 6, function: 'parse' };
  await show({
    a_samples: 100,
    b_samples: 400,
    min_samples: 20,
    items: [
      { ...line, a_share: 0.45, b_share: 0.82, points: 6.2, verdict: 'more' },
      { ...line, line: 7, a_share: 0.55, b_share: 0.5, points: 9, verdict: 'cannot_tell' },
    ],
  });
  const rows = await screen.findAllByTestId('compared-line');
  expect(rows.map((row) => row.textContent)).toEqual([
    'train.py:6 parse45%82%+37.0 ± 6.2Larger share',
    'train.py:7 parse55%50%−5.0 ± 9.0Cannot tell',
  ]);
});

it('makes no claim from a few samples', async () => {
  await show({ a_samples: 19, b_samples: 400, min_samples: 20, items: [] });
  expect((await screen.findByTestId('compare-lines-few')).textContent).toContain('19');
});
