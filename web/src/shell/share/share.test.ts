import { expect, it } from 'vitest';
import type { SessionUrl } from '../../base/url';
import { asCommand, asPython, pinned } from './share';

const SERVER = 'http://127.0.0.1:8700';
const page = (more: Partial<SessionUrl>): SessionUrl => ({
  page: 'session',
  session: 's1',
  view: 'tasks',
  filters: {},
  ...more,
});
const live = { first: 1_000_000, last: null, live: true };

it('prints the same list as a command and in Python, even for hostile filters', () => {
  const url = page({ filters: { state: 'FAILED', q: "it's $(rm)" }, sort: '-duration_ns' });
  expect(asCommand(url, SERVER)).toEqual({
    text: `rayscope tasks --state FAILED --query 'it'\\''s $(rm)' --sort=-duration_ns --session s1 --server ${SERVER}`,
    missing: [],
  });
  expect(asPython(url, SERVER)).toContain(
    `client.tasks(state="FAILED", q="it's $(rm)", sort="-duration_ns", session="s1")`,
  );
});

it('names the filters that a command lacks, and leaves out those that the list ignores', () => {
  const filters = { since_ns: '5', until_ns: '9' };
  expect(asCommand(page({ filters: { ...filters, annotation: 'a' } }), SERVER)?.missing).toEqual([
    'annotation',
  ]);
  expect(asPython(page({ filters }), SERVER)).toContain('since_ns=5, until_ns=9');
  expect(asCommand(page({ view: 'actors', filters, settings: { internal: 'show' } }), SERVER)).toEqual({
    text: `rayscope actors --since 5 --until 9 --internal --session s1 --server ${SERVER}`,
    missing: [],
  });
  expect(asPython(page({ view: 'gantt' }), SERVER)).toBeNull();
  expect(asPython(page({ view: 'placement-groups' }), SERVER)).toContain('client.placement_groups(');
});

it('covers the log page: a file, a search, or the list of files', () => {
  const logs = (settings: SessionUrl['settings']) => page({ view: 'logs', settings });
  const search = logs({ search: 'Error', mode: 'regex', level: 'info' });
  expect(asCommand(search, SERVER)?.text).toContain('rayscope logs --search Error --regex --level info');
  expect(asPython(search, SERVER)).toContain(
    'search_logs(q="Error", regex=True, level="info", session="s1")',
  );
  const file = logs({ node: 'n1', file: 'a.out', search: 'x', line: '1' });
  expect(asPython(file, SERVER)).toContain('log_page(node_id="n1", name="a.out", q="x", session="s1")');
  expect(asPython(logs({}), SERVER)).toContain('log_files(session="s1")');
});

it('pins moving times of a live session, and nothing of an ended one', () => {
  const now = 5_000_000;
  const span = { kind: 'span', span: '5m' } as const;
  expect(pinned(page({ view: 'stack' }), span, live, now).settings).toEqual({ at: '5000000000000' });
  expect(pinned(page({ view: 'metrics' }), span, live, now).filters).toEqual({
    since_ns: '4700000000000',
    until_ns: '5000000000000',
  });
  expect(pinned(page({}), span, live, now).filters.since_ns).toBe('990000000000');
  expect(pinned(page({}), span, { ...live, live: false }, now)).toEqual(page({}));
});
