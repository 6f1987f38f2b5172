import { screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import type { Dropped, Summary } from '../api/schema';
import { click, render } from '../testing/render';
import { Banners } from './Banners';

const LOST = {
  source: 'agent',
  reason: 'queue_dropped_events',
  event_type: 'TASK_LIFECYCLE_EVENT',
  first_ns: 1_767_225_661_000_000_000,
  last_ns: 1_767_225_725_000_000_000,
  count: 1234,
};
const LOST_SPANS = { ...LOST, source: 'gcs', reason: 'profile_events_dropped', count: 12_345 };
const NOTHING_LOST = {
  total: 0,
  spans: 0,
  by: [],
  unresolved_attempts: 0,
  repaired_ns: null,
} as unknown as Dropped;
const summary = (dropped: Partial<Dropped>, more: object = {}) =>
  ({
    recording: 'events',
    last_ns: 1_767_225_800_000_000_000,
    cannot_see: [],
    ingest: null,
    lanes: null,
    tracing: { traced: 1, untraced: 0, said: [], tasks_without_events: 0, without_events: [] },
    dropped: { ...NOTHING_LOST, ...dropped },
    ...more,
  }) as unknown as Summary;
const LANES = {
  fast: 1,
  json: 1,
  none: 0,
  unknown: 0,
  reasons: [
    {
      lane: 'json',
      code: 'agent_said',
      reason: 'An old agent',
      nodes: 1,
      address: '10.0.0.2',
      node_id: 'n2',
    },
  ],
};

it('shows versions that do not fit the server', async () => {
  const versions = [
    { code: 'other_agent', version: '0.2.0', ours: '0.1.0', nodes: 2, message: '', remedy: '' },
    { code: 'untested_ray', version: '2.61', ours: '2.60', nodes: null, message: '', remedy: '' },
  ];
  await render(<Banners summary={summary({}, { lanes: { ...LANES, json: 0, versions } })} />);
  expect(screen.getByTestId('banner-other_agent').textContent).toContain(
    '2 nodes run rayscope-agent 0.2.0, but this server is rayscope 0.1.0. Install the same version of both',
  );
  expect(screen.getByTestId('banner-untested_ray').textContent).toContain(
    'Ray 2.61 is newer than the newest tested version (2.60).',
  );
});

it('shows what Ray sent and this version does not recognize', async () => {
  const ingest = {
    error: null,
    behind_ns: 0,
    rejected_batches: 0,
    unknown: { 'event type FLIGHT_EVENT': 1234 },
  };
  await render(<Banners summary={summary({}, { ingest })} />);
  expect(screen.getByTestId('banner-unknown').textContent).toContain(
    'Ray reported something this version does not recognize: event type FLIGHT_EVENT (1,234).',
  );
});

it('first names what keeps all tasks away', async () => {
  const cannot_see = ['between_snapshots', 'job_api_unreachable', 'no_task_table'];
  await render(<Banners summary={summary({}, { recording: 'snapshot', cannot_see })} />);
  expect(screen.getByTestId('banner-cannot-see').textContent).toMatch(
    /^Not included: Tasks: neither the GCS nor the dashboard has any, although a driver is running\./,
  );
});

it('warns of lost task reports, and shows their source and time on request', async () => {
  await render(<Banners summary={summary({ total: 1234, by: [LOST, LOST_SPANS] })} />);
  const banner = screen.getByTestId('banner-dropped');
  expect(banner.textContent).toContain('1,234 task reports were dropped before reaching Rayscope.');
  expect(banner.textContent).toContain('The counts on this page do not include them.');
  expect(within(banner).queryByRole('table')).toBeNull();
  await click(within(banner).getByRole('button'));
  const rows = within(banner).getAllByRole('row').slice(1);
  expect(rows).toHaveLength(1);
  expect(rows[0]?.textContent).toContain('TASK_LIFECYCLE_EVENT');
  expect(rows[0]?.textContent).toMatch(/:01:01\.000 – \d\d:02:05\.000/);
});

it('mentions lost spans without a warning', async () => {
  await render(<Banners summary={summary({ spans: 12_345, by: [LOST_SPANS] })} />);
  expect(screen.getByTestId('banner-spans').textContent).toContain('12,345');
  expect(screen.getByTestId('banner-spans').dataset.mild).toBe('true');
  expect(screen.queryByTestId('banner-dropped')).toBeNull();
});

it.each([
  ['en', '1 of 2 nodes sends events as JSON'],
  ['zh', '2 个节点中有 1 个'],
] as const)('says how many nodes send slowly, and why, in %s', async (language, text) => {
  await render(<Banners summary={summary({}, { lanes: LANES })} />, { language });
  const banner = screen.getByTestId('banner-lanes');
  expect(banner.textContent).toContain(text);
  await click(within(banner).getByRole('button'));
  expect(banner.textContent).toContain('An old agent');
  expect(banner.textContent).toContain('10.0.0.2');
});

it('is absent while nothing is missing', async () => {
  await render(<Banners summary={summary({})} />);
  expect(screen.queryByRole('status')).toBeNull();
});

it.each([
  ['gantt', 'the critical path assumes that the driver waited for everything'],
  ['logical', 'so there are no data edges'],
  ['tasks', 'Object transfers and waits are unknown'],
])('says what the page %s lacks without the tracer', async (view, text) => {
  const tracing = { traced: 0, untraced: 2, said: [], tasks_without_events: 0, without_events: [] };
  await render(<Banners summary={summary({}, { tracing })} />, { at: `/s/session_1/${view}` });
  expect(screen.getByTestId('banner-tracing').textContent).toContain(text);
});
