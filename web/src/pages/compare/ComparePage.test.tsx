import { screen, within } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { expect, it } from 'vitest';
import { queryClient } from '../../api/queries';
import type { CompareAnswer, ComparedRun, DurationChange, FunctionSide } from '../../api/schema';
import { click, failure, type Request, render } from '../../testing/render';
import ComparePage from './ComparePage';
import { sorted } from './Functions';

const run = (session: string, duration_ns: number): ComparedRun => ({
  session,
  job_id: '01000000',
  name: 'train.py --lr 1',
  begin_ns: 1_767_225_600_000_000_000,
  duration_ns,
});
const FUNCTION: FunctionSide = {
  runs: 2,
  attempts: 20,
  failed: 0,
  mean_ns: 50_000_000,
  p50_ns: 50_000_000,
  p95_ns: 60_000_000,
  total_ns: 1_000_000_000,
  cpu_ns: 900_000_000,
  peak_memory: 1024 ** 2,
  input_bytes: null,
  output_bytes: 15,
};
const ANSWER: CompareAnswer = {
  a: { runs: [run('a1', 10e9), run('a2', 10.2e9)], left_out: [], shown: run('a1', 10e9) },
  b: { runs: [run('b1', 12e9), run('b2', 12.4e9)], left_out: [], shown: run('b1', 12e9) },
  duration: {
    verdict: 'slower',
    a_ns: 10.1e9,
    b_ns: 12.2e9,
    ratio: 1.208,
    low: 1.1,
    high: 1.32,
    p: 0.001,
    spread: 0.0213,
    more_runs: null,
    margin: 0.05,
  },
  waterfall: [
    { phase: 'executing', function: 'load', is_driver: false, a_ns: 1e9, b_ns: 4e9, change_ns: 3e9 },
    { phase: 'queued', function: '', is_driver: false, a_ns: 2e9, b_ns: 0.5e9, change_ns: -1.5e9 },
    { phase: 'executing', function: '', is_driver: true, a_ns: 0.1e9, b_ns: 0.3e9, change_ns: 0.2e9 },
    {
      phase: 'executing',
      function: 'Data: Map(f)',
      is_driver: false,
      a_ns: 0,
      b_ns: 0.1e9,
      change_ns: 0.1e9,
    },
    { phase: 'others', function: '', is_driver: false, a_ns: 6.9e9, b_ns: 7.1e9, change_ns: 0.2e9 },
  ],
  common: 1.0299,
  functions: [
    {
      name: 'load',
      module: 'prog',
      renamed_from: 'read',
      verdict: 'slower',
      ratio: 1.85,
      own_ratio: 1.8,
      p: 0.001,
      change_ns: 850_000_000,
      a: FUNCTION,
      b: { ...FUNCTION, mean_ns: 92_500_000, total_ns: 1_850_000_000 },
    },
    {
      name: 'extra',
      module: 'prog',
      renamed_from: null,
      verdict: 'new',
      ratio: null,
      own_ratio: null,
      p: null,
      change_ns: 1_000_000_000,
      a: null,
      b: FUNCTION,
    },
  ],
  functions_left_out: 3,
  warnings: [
    { code: 'dropped', a: ['0'], b: ['12'] },
    { code: 'tracer', a: ['off'], b: ['off'] },
    { code: 'recording', a: ['events'], b: ['snapshot'] },
    { code: 'something new', a: ['x'], b: [] },
  ],
  differences: [
    { what: 'metadata.commit', a: ['f00'], b: ['ba5', 'c0d'], same_chars: 0 },
    { what: 'package.numpy', a: ['1.26'], b: ['2.0'], same_chars: 0 },
    { what: 'ray_version', a: null, b: ['2.60.0'], same_chars: 0 },
  ],
};
const AT = '/compare?a=a1,a2&b=b1,b2&lang=en';

function show(duration: Partial<DurationChange> = {}, rest: Partial<CompareAnswer> = {}) {
  const answer = { ...ANSWER, ...rest, duration: { ...ANSWER.duration, ...duration } };
  return render(<ComparePage />, { at: AT, answers: { '/compare': answer } });
}

it.each<[Partial<DurationChange>, string, string | null]>([
  [{ verdict: 'slower' }, 'B is slower than A: +20.8%', null],
  [{ verdict: 'faster', ratio: 0.875 }, 'B is faster than A: −12.5%', null],
  [{ verdict: 'no_change', ratio: 0.9999 }, 'No change from A to B: 0.0%', null],
  [
    { verdict: 'cannot_tell', more_runs: 4 },
    'Cannot tell whether B is slower than A: +20.8%',
    'About 4 more runs on each side would show a change of 5%.',
  ],
  [
    { verdict: 'cannot_tell', margin: 0.075 },
    'Cannot tell whether B is slower than A: +20.8%',
    'The runs vary too much for a change of 7.5% to show.',
  ],
  [
    { verdict: 'cannot_tell', low: null, high: null, p: null, spread: null },
    'Cannot tell whether B is slower than A: +20.8%',
    'One run on each side cannot tell chance from change. Add runs of the same program.',
  ],
])('states the verdict of %o', async (duration, verdict, help) => {
  await show(duration);
  expect((await screen.findByTestId('compare-verdict')).textContent).toBe(verdict);
  expect(screen.queryByTestId('compare-help')?.textContent ?? null).toBe(help);
});

it('shows the limits, the mean durations and the variation behind a verdict', async () => {
  await show();
  await screen.findByTestId('compare-verdict');
  const facts = [...document.querySelectorAll('dl > div')].map(({ textContent }) => textContent);
  expect(facts).toEqual([
    'Change+20.8%between +10.0% and +32.0% (99% confidence)',
    'Duration of A10.1 sgeometric mean of 2 runs',
    'Duration of B12.2 sgeometric mean of 2 runs',
    'Equal runs vary by2.1%',
  ]);
});

it('leads from the duration of A to that of B', async () => {
  await show();
  const ns = (id: string) => screen.getAllByTestId(id).map(({ dataset }) => Number(dataset.ns));
  const parts = await screen.findAllByTestId('waterfall-part');
  expect(parts.map(({ textContent }) => textContent)).toEqual([
    'load Executing+3.00 s1.00 s → 4.00 s',
    'Queued at worker −1.50 s2.00 s → 500 ms',
    'Driver Executing+200 ms100 ms → 300 ms',
    'Data: Map(f) Executing+100 ms0 s → 100 ms',
    'All others +200 ms6.90 s → 7.10 s',
  ]);
  const [a, b] = [ns('waterfall-a'), ns('waterfall-b')];
  expect([...a, ...ns('waterfall-part')].reduce((sum, part) => sum + part)).toBe(b[0]);
  const link = within(parts[0] as HTMLElement).getByRole('link');
  expect(link.getAttribute('href')).toBe('/s/b1?func_name=load&job_id=01000000&sort=-duration_ns&lang=en');
  for (const other of parts.slice(1)) expect(within(other).queryByRole('link')).toBeNull();
});

it('warns of what makes the sides hard to compare', async () => {
  await show();
  const warnings = within(await screen.findByTestId('compare-warnings')).getAllByRole('listitem');
  expect(warnings.map(({ textContent }) => textContent)).toEqual([
    'Events were dropped, so tasks may be missing (A: 0; B: 12)',
    'The tracer was not on in every driver (both: off)',
    'They were recorded in different ways (A: Events; B: Snapshots)',
    'something new (A: x; B: not recorded)',
  ]);
});

it('states what is left out, the common factor, and what else differs', async () => {
  await show();
  const text = (await screen.findByTestId('compare-functions')).textContent;
  expect(text).toContain('3 more with smaller changes left out');
  expect(text).toContain('The time of an attempt changed by +3.0% in most functions.');
  const rows = within(screen.getByTestId('compare-differences')).getAllByRole('row');
  expect(rows.map(({ textContent }) => textContent)).toEqual([
    'WhatAB',
    'Metadata: commitf00ba5; c0d',
    'Raynot recorded2.60.0',
    'Package: numpy1.262.0',
  ]);
});

it('shows long values from where they differ', async () => {
  const same = '--table '.repeat(9);
  const differences = [{ what: 'entrypoint', a: [`${same}1`], b: [`${same}2`], same_chars: same.length }];
  await show({}, { differences });
  const row = within(await screen.findByTestId('compare-differences'))
    .getAllByRole('row')
    .at(-1);
  expect(row?.textContent).toBe('Command…1…2');
});

it('shows some of many differences, and all of them on request', async () => {
  const differences = Array.from({ length: 20 }, (_, at) => ({
    what: `package.p${at}`,
    a: ['1'],
    b: ['2'],
    same_chars: 0,
  }));
  await show({}, { differences });
  const table = within(await screen.findByTestId('compare-differences'));
  expect(table.getAllByRole('row')).toHaveLength(1 + 16);
  await click(table.getByRole('button', { name: 'Show all 20 differences' }));
  expect(table.getAllByRole('row')).toHaveLength(1 + 20);
});

it('compares functions by call path on request, and says if the paths are unknown', async () => {
  const byPath = { ...ANSWER, functions: ANSWER.functions.slice(0, 1), functions_left_out: 0 };
  const refused = failure(404, { code: 'not_found', message: 'The call paths are unknown.' });
  let answer: object = byPath;
  const answers = {
    '/compare': ({ params }: Request) => (params.functions_by === 'path' ? answer : ANSWER),
  };
  const { requests, unmount } = await render(<ComparePage />, { at: AT, answers });
  await click(await screen.findByLabelText('Call path'));
  expect((await screen.findByText(/1 call path, averages/)).isConnected).toBe(true);
  expect(requests.at(-1)?.params).toEqual({ a: 'a1,a2', b: 'b1,b2', functions_by: 'path' });
  unmount();
  queryClient.clear();
  answer = refused;
  await render(<ComparePage />, { at: AT, answers });
  await click(await screen.findByLabelText('Call path'));
  expect((await screen.findByTestId('error-panel')).textContent).toContain('The call paths are unknown.');
  await click(screen.getByLabelText('Function'));
  expect(screen.queryByTestId('error-panel')).toBeNull();
});

it('states which environment is unknown', async () => {
  await show({}, { differences: [] });
  const text = (await screen.findByTestId('compare-differences')).textContent;
  expect(text).toContain('Nothing else that is recorded differs.');
  expect(text).toContain('Unknown: the environment variables of the drivers');
});

it('does not mention a small common factor', async () => {
  await show({}, { common: 0.99 });
  await screen.findByTestId('compare-functions');
  expect(screen.queryByTestId('compare-common')).toBeNull();
});

it('swaps the sides, and moves a run to the other side', async () => {
  await show();
  await click(await screen.findByTestId('compare-swap'));
  expect(window.location.search).toBe('?a=b1%2Cb2&b=a1%2Ca2&lang=en');
  await click((await screen.findAllByTestId('compare-move'))[0] as HTMLElement);
  const query = new URLSearchParams(window.location.search);
  expect([query.get('a'), query.get('b')]).toEqual(['a2/01000000', 'b1/01000000,b2/01000000,a1/01000000']);
});

it('swaps the sides if the server chose those of A', async () => {
  const at = '/compare?b=b1,b2&lang=en';
  const { requests } = await render(<ComparePage />, { at, answers: { '/compare': ANSWER } });
  await click(await screen.findByTestId('compare-swap'));
  expect(requests.find(({ path }) => path === '/compare')?.params).toEqual({ b: 'b1,b2' });
  expect(new URLSearchParams(window.location.search).get('b')).toBe('a1/01000000,a2/01000000');
});

it('leaves out warm-up runs, which stay in the address', async () => {
  const a = { ...ANSWER.a, runs: ANSWER.a.runs.slice(1), left_out: ANSWER.a.runs.slice(0, 1) };
  await show({}, { a });
  const choice = (await screen.findByTestId('compare-skip-first-a')) as HTMLSelectElement;
  expect(choice.selectedOptions[0]?.textContent).toBe('1 warm-up run left out');
  await userEvent.selectOptions(screen.getByTestId('compare-skip-first-b'), '1');
  expect(new URLSearchParams(window.location.search).get('skip_first')).toBe('1');
  await click((await screen.findAllByTestId('compare-move'))[0] as HTMLElement);
  const query = new URLSearchParams(window.location.search);
  expect([query.get('a'), query.get('skip_first')]).toEqual(['a1/01000000,a2/01000000,b1/01000000', '1']);
});

it('says how to get here if no runs are given, and shows what the server refuses', async () => {
  const { unmount } = await render(<ComparePage />, { at: '/compare?lang=en' });
  expect((await screen.findByText('Choose two runs to compare')).isConnected).toBe(true);
  unmount();
  const refused = () => failure(404, { code: 'not_found', message: 'There is no such session.' });
  await render(<ComparePage />, { at: AT, answers: { '/compare': refused } });
  expect((await screen.findByTestId('error-panel')).textContent).toContain('There is no such session.');
});

it('gives the verdict in Chinese', async () => {
  await render(<ComparePage />, { at: AT, language: 'zh', answers: { '/compare': ANSWER } });
  expect((await screen.findByTestId('compare-verdict')).textContent).toBe('B 比 A 慢：+20.8%');
});

it('sorts functions, unknown values last', () => {
  const names = (sort?: string) => sorted(ANSWER.functions, sort).map(({ name }) => name);
  expect(names()).toEqual(['load', 'extra']);
  expect([names('name'), names('-name')]).toEqual([
    ['extra', 'load'],
    ['load', 'extra'],
  ]);
  expect([names('own'), names('-own')]).toEqual([
    ['load', 'extra'],
    ['load', 'extra'],
  ]);
  expect(names('-total')).toEqual(['extra', 'load']);
});
