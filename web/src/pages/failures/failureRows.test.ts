import { expect, it } from 'vitest';
import type { FailedAttempt, FailureGroup } from '../../api/schema';
import { failureKey, failureKind, failureRows } from './failureRows';

const attempt = (n: number): FailedAttempt => ({
  task_id: 'c0ffee',
  attempt: n,
  outcome: 'final',
  end_ns: 1,
  node_id: null,
  message: null,
  lost_with: null,
});

const group = (more: Partial<FailureGroup>): FailureGroup => ({
  func_name: 'load',
  origin: 'user',
  operator: null,
  error_type: 'WORKER_DIED',
  message: null,
  example: null,
  path: null,
  file: null,
  line: null,
  outcome: 'final',
  attempts: 2,
  tasks: 1,
  final: 1,
  retrying: 0,
  recovered: 0,
  first_ns: 1,
  last_ns: 1,
  latest: [attempt(1), attempt(0)],
  causes: [],
  ...more,
});

it('puts the attempts of an unfolded group below it, with a link to the others', () => {
  const groups = [group({ attempts: 30 }), group({ func_name: 'other' })];
  const kinds = (unfolded: string[]) => failureRows(groups, new Set(unfolded)).map(failureKind);
  expect(kinds([])).toEqual(['group final', 'group final']);
  expect(kinds(groups.map(failureKey))).toEqual([
    'group final',
    'attempt final',
    'attempt final',
    'more',
    'group final',
    'attempt final',
    'attempt final',
  ]);
});

it('recognizes a group whose figures have changed', () => {
  const later = group({ outcome: 'recovered', attempts: 9, last_ns: 7, latest: [attempt(4)] });
  expect(failureKey(later)).toBe(failureKey(group({})));
  expect(failureKey(group({ line: 7 }))).not.toBe(failureKey(group({})));
});
