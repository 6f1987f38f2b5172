import { describe, expect, it } from 'vitest';
import { apiPath } from './client';
import { isSilent, REFRESH, REFRESH_AWAY, refreshInterval, SILENT_AFTER } from './connection';
import { countNew, reuseRows, updateInPlace } from './merge';

type Row = { id: string; state: string };
const keyOf = (row: Row) => row.id;
const a = { id: 'a', state: 'RUNNING' };
const b = { id: 'b', state: 'RUNNING' };

describe('refreshed rows', () => {
  it('stay the same objects when nothing changed', () => {
    const rows = reuseRows(
      [a, b],
      [{ id: 'new', state: 'RUNNING' }, { ...a }, { ...b, state: 'FINISHED' }],
      keyOf,
    );
    expect(rows.map((row) => row.id)).toEqual(['new', 'a', 'b']);
    expect(rows[1]).toBe(a);
    expect(rows[2]).toEqual({ id: 'b', state: 'FINISHED' });
  });
  it('are not added, removed or moved in place', () => {
    const old = [a, b];
    expect(updateInPlace(old, [{ ...b }, { ...a }], keyOf)).toBe(old);
    expect(
      updateInPlace(
        old,
        [
          { id: 'c', state: 'FAILED' },
          { ...b, state: 'FAILED' },
        ],
        keyOf,
      ),
    ).toEqual([a, { id: 'b', state: 'FAILED' }]);
  });
  it('are counted when they are new', () => {
    expect(countNew([a], [{ id: 'c', state: '' }, a], keyOf)).toBe(1);
  });
});

it('leaves out parameters without a value and escapes the rest', () => {
  expect(apiPath('/tasks', { session: 'a/b&c', q: '', cursor: null, limit: 5 })).toBe(
    '/api/v1/tasks?session=a%2Fb%26c&limit=5',
  );
});

it('fills the places in a path, and repeats the parameter of a list', () => {
  expect(apiPath('/serve/{application}', { application: 'a/b {c}', session: 's' })).toBe(
    '/api/v1/serve/a%2Fb%20%7Bc%7D?session=s',
  );
  expect(apiPath('/flow/logical', { expand: ['A', 'B'], fold: [] })).toBe(
    '/api/v1/flow/logical?expand=A&expand=B',
  );
});

it('detects a server that accepts requests and answers none of them', () => {
  const at = 1_000_000;
  const waiting = { lastAnswer: at, failures: 0, needsLogin: false, waitingSince: at - 60_000 };
  expect(isSilent(waiting, at + SILENT_AFTER)).toBe(false);
  expect(isSilent(waiting, at + SILENT_AFTER + 1)).toBe(true);
  expect(isSilent({ ...waiting, waitingSince: null }, at + 60_000)).toBe(false);
  expect(isSilent({ ...waiting, waitingSince: at + 55_000 }, at + 60_000)).toBe(false);
});

it('backs off while the server is unreachable', () => {
  expect(refreshInterval(REFRESH, 0)).toBe(2_000);
  expect(refreshInterval(REFRESH, 1)).toBe(4_000);
  expect(refreshInterval(REFRESH, 4)).toBe(8_000);
  expect(refreshInterval(REFRESH, 100)).toBe(REFRESH_AWAY);
});
