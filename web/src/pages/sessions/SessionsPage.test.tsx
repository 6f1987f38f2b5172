import { fireEvent, screen, within } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { expect, it, vi } from 'vitest';
import { keepOperatorToken } from '../../api/client';
import type { SessionItem } from '../../api/schema';
import { click, failure, pass, render, type } from '../../testing/render';
import { SessionsPage } from './SessionsPage';

const SESSION: SessionItem = {
  session: 'session_2026-01-01_00-00-00_000000_1',
  name: 'train.py +1',
  script: 'train.py',
  host: 'box',
  note: '',
  tags: [],
  recording: 'events',
  state: 'live',
  outcome: null,
  slower: null,
  error: null,
  problem: null,
  first_ns: 1_767_225_600_000_000_000,
  last_ns: 1_767_225_660_000_000_000,
  tasks: 12_345,
  attempts: 12_400,
  states: { FINISHED: 12_300, FAILED: 45 },
  stopped_by_libraries: 0,
  actors: 3,
  nodes: 2,
  jobs: 1,
  disk_bytes: 2_000_000,
  location: 'local',
  ray_version: '2.55.1',
  gcs_address: '10.0.0.1:6379',
  dropped_total: 0,
};
const page = (...items: SessionItem[]) => ({
  '/sessions': { items, next: null, total: items.length, ray_dashboard: true },
});
const sessions = (total: number) =>
  Array.from({ length: total }, (_, at) => ({ ...SESSION, session: `session_${at}` }));
const AT = { at: '/?lang=en' };

it('lists sessions with their content, and opens one on a click anywhere in its row', async () => {
  await render(<SessionsPage />, { ...AT, answers: page(SESSION) });
  const row = await screen.findByTestId('session-row');
  expect(within(row).getByText('12,345')).toBeTruthy();
  expect(row.textContent).toContain('2.55.1');
  expect(within(row).queryByTestId('session-dropped')).toBeNull();
  await click(within(row).getByText('12,345'));
  expect(window.location.pathname).toBe(`/s/${SESSION.session}/overview`);
  expect(window.location.search).toBe('?lang=en');
});

it('opens a session in a new tab on a click with Ctrl', async () => {
  const opened = vi.spyOn(window, 'open').mockReturnValue(null);
  await render(<SessionsPage />, { ...AT, answers: page(SESSION) });
  fireEvent.click(await screen.findByText('12,345'), { ctrlKey: true });
  expect(opened).toHaveBeenCalledWith(`/s/${SESSION.session}/overview?lang=en`);
  expect(window.location.pathname).toBe('/');
});

it('identifies a session by its script, start, duration and host, and mentions when there is no job', async () => {
  const nameless: SessionItem = { ...SESSION, session: 'session_2', name: null, script: null, host: null };
  await render(<SessionsPage />, { ...AT, answers: page(SESSION, nameless) });
  const [row, other] = await screen.findAllByTestId('session-row');
  expect(row?.textContent).toMatch(/^Livetrain\.py \+1(20\d\d-)?\d\d-\d\d \d\d:\d\d:\d\d1m 00s.*box/);
  expect(within(row as HTMLElement).getByTitle(SESSION.session)).toBeTruthy();
  expect(other?.textContent).toMatch(/^LiveNo job yet/);
});

const SLOWER = { script: 'train.py', variant: '', ratio: 1.5, usual: { runs: 9, mid_ns: 1e9 } };
const ENDED: SessionItem = { ...SESSION, state: 'ended' };

it('shows the outcome of a session, and finds sessions by it', async () => {
  const others = sessions(5).map((session, at) => ({
    ...session,
    state: 'ended' as const,
    outcome: at === 1 ? 'SUCCEEDED' : null,
  }));
  const slower = { ...ENDED, outcome: 'FAILED', slower: SLOWER };
  const { requests } = await render(<SessionsPage />, { ...AT, answers: page(slower, ...others) });
  expect(await screen.findAllByTestId('session-row')).toHaveLength(6);
  const [failed, unknown, succeeded] = screen.getAllByTestId('session-row');
  expect((await screen.findByTestId('slower-mark')).getAttribute('aria-label')).toContain('50%');
  expect(failed?.textContent).toMatch(/^Failed/);
  expect(unknown?.textContent).toMatch(/^Ended/);
  expect(succeeded?.textContent).toMatch(/^Succeeded/);
  await click(screen.getByTestId('filter-add'));
  await click(await screen.findByRole('option', { name: 'Outcome' }));
  await click(await screen.findByRole('option', { name: 'Slower than usual' }));
  expect(screen.getAllByTestId('session-row')).toHaveLength(1);
  expect(window.location.search).toBe('?outcome=slower&lang=en');
  expect(requests.filter(({ path }) => path === '/runs')).toEqual([]);
});

it('sorts sessions', async () => {
  const long = { ...SESSION, session: 'long', name: 'long', last_ns: SESSION.first_ns + 1e12 };
  await render(<SessionsPage />, { ...AT, answers: page(SESSION, long) });
  await screen.findAllByTestId('session-row');
  await click(screen.getByRole('button', { name: 'Duration' }));
  expect(screen.getAllByTestId('session-row')[0]?.textContent).toContain('long');
});

it('deletes the ticked sessions, and goes on after the one that fails', async () => {
  keepOperatorToken('known to this tab');
  let refused = true;
  const answers = {
    ...page(...sessions(2)),
    '/sessions/session_0': { session: 'session_0' },
    '/sessions/session_1': () =>
      refused ? failure(409, { code: 'session_live', message: 'Live.' }) : { session: 'session_1' },
  };
  const { requests } = await render(<SessionsPage />, { ...AT, answers });
  for (const tick of await screen.findAllByTestId('session-tick')) await click(tick);
  await click(screen.getByTestId('sessions-delete'));
  expect((await screen.findByRole('dialog')).textContent).toContain('Delete 2 sessions?');
  await click(screen.getByTestId('act-confirm'));
  await screen.findByTestId('act-problem');
  refused = false;
  await click(screen.getByTestId('act-confirm'));
  await vi.waitFor(() => expect(screen.queryByTestId('sessions-delete')).toBeNull());
  const deleted = requests.filter(({ method }) => method === 'DELETE').map(({ path }) => path);
  expect(deleted).toEqual(['/sessions/session_0', '/sessions/session_1', '/sessions/session_1']);
});

it('sends only the changed parts of a name and note', async () => {
  keepOperatorToken('known to this tab');
  const path = `/sessions/${SESSION.session}`;
  const { requests } = await render(<SessionsPage />, {
    ...AT,
    answers: { ...page(SESSION), [path]: SESSION },
  });
  await click(await screen.findByTestId('row-menu'));
  await click(await screen.findByTestId('session-edit'));
  await type(await screen.findByTestId('session-note'), 'baseline');
  await type(screen.getByTestId('session-tags'), 'a, b');
  await click(screen.getByTestId('act-confirm'));
  const sent = requests.find((request) => request.path === path);
  expect(sent?.method).toBe('PATCH');
  expect(sent?.body).toEqual({ note: 'baseline', tags: ['a', ' b'] });
  expect(window.location.pathname).toBe('/');
});

it('names the session before it is deleted, and shows why the server refuses', async () => {
  keepOperatorToken('known to this tab');
  const path = `/sessions/${SESSION.session}`;
  const refusal = failure(409, { code: 'session_live', message: 'Live.', remedy: 'Stop it.' });
  await render(<SessionsPage />, { ...AT, answers: { ...page(SESSION), [path]: () => refusal } });
  await click(await screen.findByTestId('row-menu'));
  await click(await screen.findByTestId('session-delete'));
  const dialog = await screen.findByRole('dialog');
  expect(dialog.textContent).toContain('Delete train.py +1?');
  expect(dialog.textContent).toContain(SESSION.session);
  await click(screen.getByTestId('act-confirm'));
  expect((await screen.findByTestId('act-problem')).textContent).toContain('still being recorded');
});

it('marks the sessions in the archive', async () => {
  const archived: SessionItem = { ...SESSION, session: 'session_2', location: 'archive' };
  await render(<SessionsPage />, { ...AT, answers: page(SESSION, archived) });
  expect((await screen.findByTestId('session-location')).textContent).toBe('In the archive');
});

it('says how many sessions the list leaves out', async () => {
  const answers = { '/sessions': { items: sessions(3), next: 'x', total: 1200 } };
  await render(<SessionsPage />, { ...AT, answers });
  await screen.findByText('The newest 3 of 1,200 sessions. Search to find others.');
});

it('searches sessions once the typing pauses', async () => {
  vi.useFakeTimers();
  const { requests } = await render(<SessionsPage />, { ...AT, answers: page(...sessions(5)) });
  await screen.findAllByTestId('session-row');
  const searches = () => requests.map(({ params }) => params.q).filter((q) => q !== undefined);
  await type(screen.getByTestId('filter-q'), 'train');
  expect(searches()).toEqual([]);
  await pass(250);
  expect(searches()).toEqual(['train']);
});

it('warns of a session that lacks task reports', async () => {
  await render(<SessionsPage />, { ...AT, answers: page({ ...SESSION, dropped_total: 1234 }) });
  expect((await screen.findByTestId('session-dropped')).textContent).toContain('1,234');
});

it('compares the ticked sessions, the oldest with the others', async () => {
  const later = { ...SESSION, session: 'session_2', first_ns: SESSION.first_ns + 1e12 };
  await render(<SessionsPage />, {
    ...AT,
    answers: page(later, SESSION, { ...SESSION, session: 'x', jobs: 0 }),
  });
  const [first, second, jobless] = await screen.findAllByTestId('session-tick');
  await click(jobless as HTMLElement); // has nothing to compare
  await click(first as HTMLElement);
  expect((screen.getByTestId('compare-ticked') as HTMLButtonElement).disabled).toBe(true);
  await click(second as HTMLElement);
  await click(screen.getByTestId('compare-ticked'));
  expect(window.location.pathname + window.location.search).toBe(
    `/compare?a=${SESSION.session}&b=session_2&lang=en`,
  );
});

it('does not open an unreadable session, and shows the reason', async () => {
  const broken: SessionItem = { ...SESSION, state: 'unreadable', error: 'The file is cut off.' };
  await render(<SessionsPage />, { ...AT, answers: page(broken) });
  const error = await screen.findByTestId('session-error');
  expect(error.textContent).toContain('The file is cut off.');
  expect(screen.queryByRole('link')).toBeNull();
  await click(error);
  expect(window.location.pathname).toBe('/');
});

it('gives the reason in Chinese', async () => {
  const problem = { code: 'older', message: 'Too old.', remedy: '', params: { what: 'record', file: '/r' } };
  const answers = page({ ...SESSION, state: 'unreadable', problem });
  await render(<SessionsPage />, { at: '/?lang=zh', language: 'zh', answers });
  expect((await screen.findByTestId('session-error')).textContent).toContain('/r 由更旧的 Rayscope 写入');
});

it('explains how to record a first session', async () => {
  await render(<SessionsPage />, { ...AT, answers: page() });
  expect((await screen.findByTestId('sessions-empty')).textContent).toContain('rayscope attach ADDRESS');
});

it('retries after an error', async () => {
  let answer: object = failure(503, { code: 'busy', message: 'Busy.' });
  const { requests } = await render(<SessionsPage />, { ...AT, answers: { '/sessions': () => answer } });
  await screen.findByText('Busy.');
  answer = page(SESSION)['/sessions'];
  const asked = requests.length;
  await click(screen.getByRole('button', { name: 'Try again' }));
  expect(requests).toHaveLength(asked + 1);
  await screen.findByTestId('session-row');
});

it('opens a session file, and shows its session', async () => {
  keepOperatorToken('known to this tab');
  const answers = { ...page(), '/sessions/file': { session: 'session_9' } };
  const { requests } = await render(<SessionsPage />, { ...AT, answers });
  await screen.findByTestId('sessions-empty');
  const file = new File(['PK'], 'train.rayscope');
  const input = document.querySelector<HTMLInputElement>('input[type=file]');
  await userEvent.upload(input as HTMLInputElement, file);
  expect(input?.files).toHaveLength(0); // so that the same file can be chosen again
  const dialog = await screen.findByRole('dialog');
  expect(dialog.textContent).toContain('Open train.rayscope?');
  await click(screen.getByTestId('act-confirm'));
  await vi.waitFor(() => expect(window.location.pathname).toBe('/s/session_9/overview'));
  const sent = requests.find((request) => request.path === '/sessions/file');
  expect(sent?.method).toBe('POST');
});

it('opens a dropped file, and explains why it is refused', async () => {
  keepOperatorToken('known to this tab');
  const refusal = failure(400, {
    code: 'bad_session_file',
    message: 'The session file cannot be opened: it is cut off.',
    params: { what: 'damaged', reason: 'it is cut off' },
  });
  await render(<SessionsPage />, {
    at: '/?lang=zh',
    language: 'zh',
    answers: { ...page(SESSION), '/sessions/file': () => refusal },
  });
  const row = await screen.findByTestId('session-row');
  const dataTransfer = { types: ['Files'], files: [new File(['x'], 'bad.rayscope')] };
  fireEvent.dragOver(row, { dataTransfer });
  expect(screen.getByTestId('sessions-drop')).toBeTruthy();
  fireEvent.drop(row, { dataTransfer });
  expect(screen.queryByTestId('sessions-drop')).toBeNull();
  await click(await screen.findByTestId('act-confirm'));
  expect((await screen.findByTestId('act-problem')).textContent).toContain('无法打开该会话文件');
  expect(window.location.pathname).toBe('/');
});
