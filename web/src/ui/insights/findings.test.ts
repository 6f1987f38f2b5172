import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { FindingItem } from '../../api/schema';
import { zhKinds } from '../../base/i18n/zh.insights';
import { filtersOf, findingKey, numberText, plainName } from './findings';
import { findingOf } from './useFindings';

const FINDING: FindingItem = {
  kind: 'get_in_loop',
  title: 'ray.get in a loop',
  severity: 'critical',
  share: 0.3,
  saving_ns: null,
  saving_low_ns: null,
  saving_high_ns: null,
  cost_ns: 3e9,
  is_risk: false,
  on_path_ns: null,
  confidence: 'medium',
  function: 'work',
  actor_class: null,
  caller: '',
  origin: 'user',
  numbers: {},
  advice: '',
  sketch: '',
  doc: '',
  filters: { func_name: 'work', unheard_of: '1' },
};

it('formats numbers by their names', () => {
  expect(numberText('median_ns', 1_500_000_000)).toBe('1.50 s');
  expect(numberText('share', 0.354)).toBe('35%');
  expect(numberText('memory_bytes', 2048)).toBe('2.00 KiB');
  expect(numberText('calls', 6000)).toBe('6,000');
  expect(numberText('queue', 48.9507)).toBe('49');
  expect(numberText('resource', 'TPU')).toBe('TPU');
  expect(plainName('own_work_ns')).toBe('own work');
});

it('names a finding by kind, place and caller', () => {
  expect(findingKey(FINDING)).toBe('get_in_loop:work');
  expect(findingKey({ ...FINDING, caller: 'main' })).toBe('get_in_loop:work:main');
  expect(findingKey({ ...FINDING, function: null, caller: null })).toBe('get_in_loop');
});

it('uses the filters that lists support', () => {
  expect(filtersOf(FINDING)).toEqual({ func_name: 'work' });
});

/** The placeholders of the Chinese texts must match the values of the detector. */
it('has Chinese texts for the detectors that ship', () => {
  const folder = '../src/rayscope/insights/detectors';
  const sources = readdirSync(folder)
    .filter((name) => name.endsWith('.py'))
    .map((name) => readFileSync(`${folder}/${name}`, 'utf8'));
  const kinds = sources.flatMap((source) =>
    [...source.matchAll(/^ {4}kind = "(\w+)"/gm)].map(([, kind]) => kind),
  );
  expect(kinds.filter((kind) => zhKinds[kind ?? ''] === undefined)).toEqual([]);
  for (const [kind, { advice }] of Object.entries(zhKinds)) {
    const source = sources.find((text) => text.includes(`kind = "${kind}"`)) ?? '';
    const names = [...advice.matchAll(/\{\{(\w+)\}\}/g)].map(([, name]) => name);
    expect(
      names.filter((name) => !new RegExp(`\\{${name}[:}]`).test(source)),
      kind,
    ).toEqual([]);
  }
});

it('finds a class by its own name and by its methods, first finding first', () => {
  const board = { ...FINDING, kind: 'actor_bottleneck', function: null, actor_class: 'main.<locals>.Board' };
  const findings = [
    FINDING,
    { ...FINDING, kind: 'straggler' },
    { ...board, filters: { func_name: 'Board.offer', actor_id: 'a1' } },
    { ...FINDING, kind: 'driver_bound', function: null },
  ];
  const kindOf = (name: string, actorId?: string) => findingOf(findings, name, actorId)?.kind;
  expect(kindOf('work')).toBe('get_in_loop');
  for (const name of ['main.<locals>.Board', 'Board', 'Board.offer']) {
    expect(kindOf(name)).toBe('actor_bottleneck');
    expect(kindOf(name, 'a1')).toBe('actor_bottleneck');
    expect(kindOf(name, 'b2')).toBeUndefined();
  }
  expect(kindOf('Other')).toBeUndefined();
});
