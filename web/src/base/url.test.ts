import { describe, expect, it } from 'vitest';
import {
  formatUrl,
  onlyMineOf,
  parseUrl,
  rangeIn,
  type SessionUrl,
  toFlow,
  toggleState,
  toView,
  type Url,
  withFilter,
  withRange,
} from './url';

function roundTrip(url: Url): Url {
  const [path, search] = formatUrl(url).split(/(?=\?)/);
  return JSON.parse(JSON.stringify(parseUrl(path ?? '', search ?? '')));
}

const full: SessionUrl = {
  page: 'session',
  session: 'session_2026-11-21_10-47-03_123456_4711',
  view: 'failures',
  filters: {
    q: 'a b&c=d',
    state: 'RUNNING,FAILED',
    func_name: 'm.<f>#1',
    node_id: 'ab',
    since_ns: '1795257600123456789',
  },
  sort: '-duration_ns',
  task: 'c0ffee',
  attempt: 0,
  item: 'x',
  wide: true,
  lang: 'zh',
};

describe('a link carries all of the state', () => {
  it.each<[string, Url]>([
    ['the sessions', { page: 'sessions', filters: { q: 'a' }, sort: '-tasks' }],
    [
      'runs',
      { page: 'runs', filters: { script: 'train.py', function: 'load', tag: 'team=search' }, sort: '-tasks' },
    ],
    ['a comparison', { page: 'compare', a: 's/01000000,ü', b: 't', margin: '0.1', skip_first: '1' }],
    ['a bare session', { page: 'session', session: 's', view: 'tasks', filters: {} }],
    ['everything at once', full],
    ['the page of a job', { ...full, view: 'jobs', item: 'my job/ü?' }],
    ['a hostile name', { ...full, session: '../<b>%2F?x=1#y/ü 中文' }],
  ])('%s', (_, url) => expect(roundTrip(url)).toEqual(url));
});

it('accepts malformed links', () => {
  expect(parseUrl('/s/50%', '').page).toBe('session');
  expect(parseUrl('/s/x/nonsense', '').page).toBe('unknown');
  expect(parseUrl('/s/x/actors/ab', '').page).toBe('unknown');
  expect(parseUrl('/s/x/jobs/ab/cd', '').page).toBe('unknown');
  expect(parseUrl('/elsewhere', '').page).toBe('unknown');
  expect(parseUrl('/s/x', '?attempt=-1&state=&unheard=1')).toMatchObject({ attempt: undefined, filters: {} });
});

it('changes one filter and keeps the rest', () => {
  expect(withFilter(full, 'node_id', undefined).filters).not.toHaveProperty('node_id');
  expect(withFilter(full, 'node_id', 'cd')).toMatchObject({
    sort: '-duration_ns',
    filters: { node_id: 'cd', q: 'a b&c=d' },
  });
  expect(toView(full, 'nodes')).toEqual({
    page: 'session',
    session: full.session,
    view: 'nodes',
    filters: {},
    lang: 'zh',
  });
});

it('keeps a valid range of time when the page changes', () => {
  const range = { from: '1000', to: '2000' };
  const narrowed = withRange(full, range);
  expect(toView(narrowed, 'logs').filters).toEqual({ since_ns: '1000', until_ns: '2000' });
  expect(toView(narrowed, 'tasks', { since_ns: '5', until_ns: '5' }).filters.since_ns).toBe('5');
  expect(withRange(narrowed, null).filters).toEqual({
    q: 'a b&c=d',
    state: 'RUNNING,FAILED',
    func_name: 'm.<f>#1',
    node_id: 'ab',
  });
  for (const [since_ns, until_ns] of [
    ['2000', '1000'],
    ['5', '5'],
    ['x', '5'],
  ])
    expect(rangeIn({ since_ns, until_ns })).toBeNull();
});

it('toggles states', () => {
  expect(toggleState(undefined, 'FAILED')).toBe('FAILED');
  expect(toggleState('FAILED', 'RUNNING')).toBe('FAILED,RUNNING');
  expect(toggleState('FAILED,RUNNING', 'FAILED')).toBe('RUNNING');
  expect(toggleState('FAILED', 'FAILED')).toBeUndefined();
});

it('keeps filters, selection and search in another view, and nothing else', () => {
  const url = { ...full, settings: { find: 'leaf', range: '1-2', path: '1' } };
  expect(toFlow(url, 'flame')).toEqual({
    page: 'session',
    session: full.session,
    view: 'flame',
    filters: full.filters,
    task: 'c0ffee',
    attempt: 0,
    settings: { find: 'leaf' },
    lang: 'zh',
  });
});

it('collapses libraries at first, and hides them only when asked', () => {
  const url: SessionUrl = { page: 'session', session: full.session, view: 'logical', filters: {} };
  expect(onlyMineOf(url)).toBe('mine');
  expect(onlyMineOf({ ...url, settings: { only: 'all' } })).toBeUndefined();
  expect(onlyMineOf(toFlow(url, 'gantt'))).toBeUndefined();
  expect(onlyMineOf(toFlow({ ...url, settings: { only: 'mine' } }, 'gantt'))).toBe('mine');
});

it('opens older links whose settings have other names now', () => {
  expect(parseUrl('/s/a/stack', '?only=1')).toMatchObject({ settings: { awaited: '1', only: undefined } });
  expect(parseUrl('/s/a/logs', '?only=all')).toMatchObject({ settings: { files: 'all', only: undefined } });
  expect(parseUrl('/s/a/gantt', '?only=mine')).toMatchObject({ settings: { only: 'mine' } });
});
