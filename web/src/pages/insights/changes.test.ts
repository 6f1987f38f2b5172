import { expect, it } from 'vitest';
import type { Change } from '../../api/insights';
import { formatUrl, parseUrl, withSettings } from '../../base/url';
import { amountOf, changeOf, formatChanges, parseChanges, withChange, withoutChange } from './changes';

const CHANGES: Change[] = [
  { kind: 'speed', function: 'main.<locals>.load', times: 0.25 },
  { kind: 'cpus', count: 4 },
  { kind: 'actors', class_name: 'Board', count: 3 },
  { kind: 'num_cpus', function: 'odd:name,100%', num_cpus: 0.5 },
  { kind: 'one_get', function: 'work' },
  { kind: 'no_startup' },
];

it('has a text for changes that reads back as the same', () => {
  expect(formatChanges(CHANGES.slice(0, 3))).toBe('speed:0.25:main.<locals>.load,cpus:4,actors:3:Board');
  expect(parseChanges(formatChanges(CHANGES))).toEqual(CHANGES);
});

it('goes through a link', () => {
  const url = parseUrl('/s/session_1/insights', '');
  if (url.page !== 'session') throw new Error('no session');
  const link = formatUrl(withSettings(url, { changes: formatChanges(CHANGES) }));
  const readBack = parseUrl('/s/session_1/insights', link.slice(link.indexOf('?')));
  expect(readBack.page === 'session' && parseChanges(readBack.settings?.changes)).toEqual(CHANGES);
});

it('skips invalid changes', () => {
  expect(parseChanges(undefined)).toEqual([]);
  expect(parseChanges('speed,speed:2,speed:x:f,cpus:,faster:2:f,toString,no_retries')).toEqual([
    { kind: 'no_retries' },
  ]);
  expect(parseChanges('one_get:50%')).toEqual([{ kind: 'one_get', function: '50%' }]);
});

it('replaces a change of the same thing, and removes it', () => {
  const faster = changeOf('speed', 'f', 4);
  const both = withChange([changeOf('speed', 'f', 2), changeOf('speed', 'g', 2)], faster);
  expect(both).toEqual([faster, changeOf('speed', 'g', 2)]);
  expect(amountOf(both, 'speed', 'f')).toBe(4);
  expect(amountOf(both, 'no_startup')).toBeUndefined();
  expect(withoutChange(both, faster)).toEqual([changeOf('speed', 'g', 2)]);
});
