import { screen, waitFor, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { keepOperatorToken } from '../../api/client';
import type { RunItem, TrendAnswer } from '../../api/schema';
import { click, render, type } from '../../testing/render';
import RunsPage from './RunsPage';

const S = 1_000_000_000;
const RUN: RunItem = {
  session: 'session_1',
  job_id: '01000000',
  script: 'train.py',
  variant: '',
  name: 'train.py --lr 1',
  tags: ['nightly'],
  metadata: {},
  baseline: false,
  left_out: false,
  cluster: 'box',
  nodes: 1,
  begin_ns: 1_767_225_600 * S,
  end_ns: 1_767_225_700 * S,
  duration_ns: 100 * S,
  outcome: 'SUCCEEDED',
  tasks: 12_345,
  attempts: 12_400,
  failed: 0,
  cpu_ns: 7_200 * S,
  gpu_ns: null,
  peak_memory: null,
  ray_version: '2.55.1',
  git_commit: 'c0ffee12ab34',
  traced: true,
  recording: 'events',
  dropped: 0,
  has_record: true,
  verdict: 'slower',
  reason: null,
  ratio: 1.12,
  usual: { runs: 9, mid_ns: 89 * S, low_ns: 85 * S, high_ns: 93 * S },
  comparable: 9,
};
const LATER: RunItem = {
  ...RUN,
  job_id: '02000000',
  begin_ns: RUN.begin_ns === null ? null : RUN.begin_ns + S,
  verdict: 'unknown',
  reason: 'few_runs',
  ratio: null,
  usual: null,
};
const point = ({ session, job_id, has_record, name, begin_ns, duration_ns, verdict }: RunItem) => ({
  ...{ session, job_id, has_record, name, begin_ns, verdict, value_ns: duration_ns, outcome: 'SUCCEEDED' },
  ...{ counts: true, tags: [], git_commit: null, baseline: false, ratio: null },
});
const CHANGE = {
  ...{
    session: 'session_1',
    job_id: '02000000',
    has_record: true,
    begin_ns: LATER.begin_ns,
    git_commit: 'c0ffee12ab34',
  },
  ...{ before_ns: 94 * S, after_ns: 100 * S, ratio: 1.06, p: 0.001 },
};
const TREND: TrendAnswer = {
  script: 'train.py',
  variant: '',
  function: null,
  points: [point(RUN), point(LATER)],
  runs_left_out: 0,
  usual: RUN.usual,
  changes: [CHANGE],
  baseline_ns: 90 * S,
  functions: [{ name: 'load', total_ns: 9 * S, values_ns: [S, null], changes: [CHANGE] }],
};
const page = (...items: RunItem[]) => ({
  '/runs': {
    items,
    next: null,
    total: items.length,
    groups: [{ script: 'train.py', variant: '', runs: items.length, newest_ns: null }],
    pending: 0,
  },
  '/runs/trend': TREND,
});
const AT = '/runs?lang=en';

it('lists runs with their verdicts, and says why one is unknown', async () => {
  await render(<RunsPage />, { at: AT, answers: page(LATER, RUN) });
  const [later, run] = await screen.findAllByTestId('run-row');
  expect(run?.textContent).toContain('12% slower');
  expect(later?.textContent).toContain('too few earlier runs');
  expect(within(run as HTMLElement).getByText('12,345')).toBeTruthy();
  expect(within(run as HTMLElement).getByText('2h 00m')).toBeTruthy(); // CPU time
  expect(screen.queryByTestId('trend')).toBeNull();
});

it('shows the trend of the chosen script, with what changed since when', async () => {
  const { requests } = await render(<RunsPage />, { at: AT, answers: page(LATER, RUN) });
  await click((await screen.findAllByTestId('run-script'))[0] as HTMLElement);
  expect(window.location.search).toBe('?script=train.py&lang=en');
  expect(await screen.findAllByTestId('trend-point')).toHaveLength(2);
  const lists = requests.filter(({ path }) => path === '/runs');
  expect(lists.at(-1)?.params).toMatchObject({ script: 'train.py', variant: 'none' });
  const change = screen.getByTestId('trend-change');
  expect(change.textContent).toMatch(/^6% slower since /);
  expect(change.textContent).toContain('commit c0ffee12');
  expect(screen.getByTestId('trend-step')).toBeTruthy();
  expect(screen.getByTestId('trend-function').textContent).toContain('load');
});

it('compares the ticked runs, the oldest with the others', async () => {
  await render(<RunsPage />, { at: AT, answers: page(LATER, RUN) });
  const [later, run] = await screen.findAllByTestId('run-tick');
  await click(later as HTMLElement);
  expect((screen.getByTestId('compare-ticked') as HTMLButtonElement).disabled).toBe(true);
  await click(run as HTMLElement);
  await click(screen.getByTestId('compare-ticked'));
  expect(decodeURIComponent(window.location.search)).toBe(
    '?a=session_1/01000000&b=session_1/02000000&lang=en',
  );
});

it('does not open a run whose record is deleted', async () => {
  await render(<RunsPage />, { at: AT, answers: page({ ...RUN, has_record: false }) });
  const row = await screen.findByTestId('run-row');
  expect(within(row).queryByTestId('run-open')).toBeNull();
  expect(within(row).queryByTestId('run-tick')).toBeNull();
});

it('links to no deleted record from a trend', async () => {
  const gone = { has_record: false };
  const points = TREND.points.map((one) => ({ ...one, ...gone }));
  const trend = { ...TREND, points, changes: [{ ...CHANGE, ...gone }] };
  const answers = { ...page(RUN), '/runs/trend': trend };
  await render(<RunsPage />, { at: '/runs?script=train.py&lang=en', answers });
  expect((await screen.findAllByTestId('trend-point')).map(({ tagName }) => tagName)).toEqual([
    'SPAN',
    'SPAN',
  ]);
  expect(within(screen.getByTestId('trend-change')).queryByRole('link')).toBeNull();
});

it.each([
  [null, ['slower', 'unknown']],
  ['load', [undefined, undefined]],
])('colors the points by the verdict on the run, but not those of a function', async (name, colors) => {
  const answers = { ...page(RUN), '/runs/trend': { ...TREND, function: name } };
  await render(<RunsPage />, { at: '/runs?script=train.py&lang=en', answers });
  const points = await screen.findAllByTestId('trend-point');
  expect(points.map(({ parentElement }) => parentElement?.dataset.verdict)).toEqual(colors);
});

it('says that a script has no run without a variant', async () => {
  const missing = { error: { code: 'not_found', message: 'No run', remedy: 'List them.' } };
  const answers = { ...page(), '/runs/trend': () => Response.json(missing, { status: 404 }) };
  await render(<RunsPage />, { at: '/runs?script=train.py&lang=en', answers });
  expect(await screen.findByText('No run matches.')).toBeTruthy();
  await waitFor(() => expect(document.querySelector('.mantine-Loader-root')).toBeNull());
  expect(screen.queryByTestId('error-panel')).toBeNull();
});

it('edits the tags of a run and sets it as the baseline', async () => {
  keepOperatorToken('known to this tab');
  const path = '/runs/session_1/01000000';
  const { requests } = await render(<RunsPage />, { at: AT, answers: { ...page(RUN), [path]: RUN } });
  const bodies = () => requests.filter((request) => request.path === path).map(({ body }) => body);
  await click(await screen.findByTestId('row-menu'));
  await click(await screen.findByTestId('run-tags'));
  await type(await screen.findByTestId('run-tag-field'), ', team=search');
  await click(screen.getByTestId('act-confirm'));
  expect(bodies()).toEqual([{ tags: ['nightly', ' team=search'] }]);
  await click(screen.getByTestId('row-menu'));
  await click(await screen.findByTestId('run-baseline'));
  await click(screen.getByTestId('act-confirm'));
  expect(bodies()[1]).toEqual({ baseline: true });
});

it('explains how to record a first run', async () => {
  await render(<RunsPage />, { at: AT, answers: page() });
  expect((await screen.findByTestId('runs-empty')).textContent).toContain('rayscope run SCRIPT.py');
});

it('shows the reason in Chinese', async () => {
  await render(<RunsPage />, { at: '/runs?lang=zh', language: 'zh', answers: page(LATER) });
  expect((await screen.findByTestId('run-row')).textContent).toContain('此前的运行太少');
});
