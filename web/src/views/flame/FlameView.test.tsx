import { act, fireEvent, screen, waitFor } from '@testing-library/react';
import { expect, it } from 'vitest';
import { queryClient } from '../../api/queries';
import type { FlameAnswer, FlameFrame, LinesAnswer, StackFrame } from '../../api/schema';
import { linesAnswer } from '../../testing/lines';
import { click, press, render } from '../../testing/render';
import FlameView from './FlameView';

const call = (parts: Partial<FlameFrame>) =>
  ({
    parent: '0',
    kind: 'call',
    attempts: 0,
    own: 0,
    value: 9e9,
    p50_ns: null,
    max_memory: null,
    p95_memory: null,
    first_ns: null,
    baseline_value: null,
    folded: 0,
    ...parts,
  }) as FlameFrame;

const FLAME = {
  session: 'session_1',
  weight: 'memory_time',
  path_job_id: null,
  total: 9e9,
  attempts: 2,
  baseline_total: null,
  focus: null,
  ancestors: [],
  libraries: [],
  frames: [call({ id: '0', parent: null, kind: 'driver', name: null }), call({ id: '1', name: 'fit' })],
  frames_total: 2,
  folded: 0,
} as unknown as FlameAnswer;

const line = (parts: Partial<StackFrame>): StackFrame => ({
  id: '1',
  parent: null,
  depth: 0,
  kind: 'code',
  file: 'lib/train.py',
  line: 3,
  function: 'main',
  own: 0,
  value: 0,
  points: null,
  native: 0,
  ...parts,
});

const LINES = linesAnswer({
  frames: [
    line({ id: '1', value: 90, own: 30, points: 6.2 }),
    line({ id: '2', parent: '1', function: 'step', line: 12, value: 60, own: 60, native: 15, points: 9.4 }),
    line({ id: '3', kind: 'unknown', file: '', function: '', value: 5, own: 5 }),
  ],
  frames_total: 3,
});

const TOO_FEW: LinesAnswer = {
  ...LINES,
  samples: 3,
  is_enough: false,
  missing: {
    code: 'few_samples',
    message: 'Too few samples for shares: 3 (at least 20 are needed).',
    remedy: 'Look at all attempts of the function, or record with --samples 20.',
    params: { samples: 3, least: 20 },
  } as LinesAnswer['missing'],
};

const show = (settings: string, lines: LinesAnswer | (() => LinesAnswer) = LINES) =>
  render(<FlameView summary={undefined} />, {
    at: `/s/session_1/flame?weight=memory_time&${settings}`,
    answers: {
      '/flow/flame': ({ params }) => (params.of === undefined ? FLAME : { callers: FLAME, callees: FLAME }),
      '/lines': lines,
    },
  });

const setting = (name: string) => new URLSearchParams(window.location.search).get(name);
const boxes = () => screen.getByTestId('flame').dataset.boxes;
const picture = () => screen.getByRole('img', { name: /frames$/ }).getAttribute('aria-label');

it('continues from a function into its lines', async () => {
  await show('frame=1');
  const lines = await screen.findByTestId('flame-lines');
  expect(boxes()).toBe('2');
  expect(screen.getByTestId('flame-status')).toBeDefined();

  await click(screen.getByRole('switch', { name: 'Lines' }));
  expect(setting('lines')).toBe('1');
  expect(lines.textContent).toContain('100 samples of all attempts of fit');
  expect(boxes()).toBe('5');
  expect(picture()).toBe('fit: 100 samples; 4 frames');
  expect(screen.queryByTestId('flame-status')).toBeNull();

  await click(screen.getByRole('switch', { name: 'Lines' }));
  expect(setting('lines')).toBeNull();
  expect(boxes()).toBe('2');
});

it('zooms in on a line, and out again', async () => {
  await show('frame=1&lines=1');
  await screen.findByTestId('flame-lines');
  act(() => screen.getByTestId('flame').focus());
  await press('{ArrowDown}{ArrowDown}{ArrowDown}');
  const tip = screen.getByTestId('flame-tip').textContent;
  expect(tip).toContain('step · train.py:12lib/train.py:12');
  expect(tip).toContain('Samples60 · 60% ± 10');
  expect(tip).toContain('In C libraries15 · 15%');
  expect(tip).not.toContain('Peak memory');

  await press('{Enter}');
  expect(setting('lines')).toBe('line:2');
  expect(screen.getByTestId('flame-crumbs').textContent).toBe(
    'Driver›fit›main · train.py:3›step · train.py:12',
  );
  await press('{Escape}');
  expect(setting('lines')).toBe('line:1');
  await press('{Escape}');
  expect([setting('frame'), setting('lines')]).toEqual(['1', '1']);
  await press('{Escape}');
  expect([setting('frame'), setting('lines')]).toEqual([null, null]);
});

it('searches the lines', async () => {
  await show('frame=1&lines=1&find=STEP');
  expect((await screen.findByTestId('flame-lines')).textContent).toContain('1 frame found: 60%');
});

it('keeps the lines while the pointer is in the graph', async () => {
  let samples = 100;
  await show('frame=1&lines=1', () => ({ ...LINES, samples }));
  await screen.findByTestId('flame-lines');
  const canvas = screen.getByRole('img', { name: /frames$/ });
  fireEvent.mouseMove(canvas);
  samples = 200;
  void queryClient.refetchQueries({ predicate: ({ state }) => state.data !== undefined });
  await waitFor(() => expect(screen.getByTestId('function-lines').textContent).toContain('200 samples'));
  expect(picture()).toBe('fit: 100 samples; 4 frames');
  fireEvent.mouseLeave(canvas);
  expect(picture()).toBe('fit: 200 samples; 4 frames');
});

it('names a line that is not recorded', async () => {
  await show('frame=1&lines=line:3');
  await waitFor(() =>
    expect(screen.getByTestId('flame-crumbs').textContent).toBe('Driver›fit›(frame not recorded)'),
  );
});

it('shows the function if the link has a line that is gone, or there are too few samples', async () => {
  const { unmount } = await show('frame=1&lines=line:9');
  await screen.findByTestId('flame-lines');
  expect(screen.getByTestId('flame-crumbs').textContent).toBe('Driver›fit');
  unmount();
  await show('frame=1&lines=1', TOO_FEW);
  await waitFor(() =>
    expect(screen.getByTestId('flame-lines').textContent).toContain('Too few samples for shares: 3'),
  );
  expect((screen.getByRole('switch', { name: 'Lines' }) as HTMLInputElement).disabled).toBe(true);
  expect(screen.getByTestId('flame-status')).toBeDefined();
});
