import { describe, expect, it } from 'vitest';
import { atLeast, failedWithin, type HealthFacts, healthOf, isLost } from './health';

const well: HealthFacts = {
  live: true,
  states: { RUNNING: 3, RUNNING_IN_RAY_GET: 1, FINISHED: 10, PENDING_NODE_ASSIGNMENT: 2 },
  critical: [],
  firing: [],
  nodesAlive: 2,
  nodesLost: 0,
  never: 0,
  pending: 0,
  failedLately: 0,
  jobsFailed: 0,
  final: 0,
  recovered: 0,
  recordingFails: false,
};
const key = (changed: Partial<HealthFacts>) => healthOf({ ...well, ...changed }).key;

describe('the sentence about a session', () => {
  it('mentions problems first', () => {
    const all = {
      critical: ['NodeMemory'],
      nodesLost: 1,
      never: 2,
      failedLately: 3,
      firing: ['x'],
      pending: 4,
    };
    expect(key({ ...all, recordingFails: true })).toBe('recording');
    expect(key(all)).toBe('nodesLost');
    expect(key({ ...all, nodesAlive: 0 })).toBe('noNodes');
    expect(key({ ...all, nodesLost: 0 })).toBe('critical');
    expect(key({ ...all, critical: [], nodesLost: 0 })).toBe('never');
    expect(key({ failedLately: 3, firing: ['x'], pending: 4 })).toBe('failing');
    expect(key({ firing: ['x'], pending: 4 })).toBe('firing');
    expect(key({ pending: 4 })).toBe('pending');
  });
  it('counts all running states, and does not report waiting as healthy', () => {
    expect(healthOf(well)).toMatchObject({
      key: 'running',
      tone: 'good',
      numbers: { running: 4, waiting: 2 },
    });
    expect(key({ states: { FINISHED: 5, PENDING_ARGS_AVAIL: 1 } })).toBe('waiting');
    expect(key({ states: { FINISHED: 5 } })).toBe('idle');
    expect(key({ states: {} })).toBe('nothing');
  });
  it('describes the outcome of an ended session', () => {
    const over = { live: false, critical: ['x'] };
    expect(key({ ...over, jobsFailed: 1 })).toBe('endedFailedJobs');
    expect(key({ ...over, final: 1, recovered: 1 })).toBe('endedFailed');
    expect(key({ ...over, states: { FINISHED: 2, FAILED: 1 }, recovered: 1 })).toBe('endedRecovered');
    const recoveredToo = { ...over, states: { FINISHED: 2, FAILED: 1, CUT_OFF: 1 }, recovered: 1 };
    expect(key(recoveredToo)).toBe('endedRecovered');
    expect(key({ ...over, states: { FINISHED: 1, RUNNING: 1 } })).toBe('endedOpen');
    const cut = healthOf({ ...well, ...over, states: { FINISHED: 2, CUT_OFF: 1 } });
    expect(cut).toMatchObject({ key: 'endedCutOff', tone: 'quiet', numbers: { finished: 2, cutOff: 1 } });
    expect(key({ ...over, states: { FINISHED: 1 } })).toBe('endedWell');
  });
  it('adds what else failed in an ended session, if anything did', () => {
    const over = { ...well, live: false, states: { FINISHED: 2 } };
    expect(healthOf(over)).toMatchObject({ also: [], tone: 'good' });
    expect(healthOf({ ...over, nodesLost: 1 })).toMatchObject({ also: ['lost'], tone: 'waiting' });
    expect(healthOf({ ...over, jobsFailed: 1, recovered: 2 }).also).toEqual(['recovered']);
    expect(healthOf({ ...over, jobsFailed: 1, final: 1, nodesLost: 1 }).also).toEqual(['final', 'lost']);
    expect(healthOf({ ...over, final: 1, recovered: 1 })).toMatchObject({ also: ['recovered'] });
  });
});

it('distinguishes lost nodes from those terminated on purpose', () => {
  expect(['EXPECTED_TERMINATION', 'AUTOSCALER_DRAIN_IDLE'].some(isLost)).toBe(false);
  expect(isLost('UNEXPECTED_TERMINATION')).toBe(true);
  expect(isLost(null)).toBe(true);
});

it('counts failures of the last minutes of the record', () => {
  const failures = [{ end_ns: 1000 }, { end_ns: 400 }, { end_ns: null }];
  expect(failedWithin(failures, 1000, 500)).toBe(1);
  expect(failedWithin(failures, null, 500)).toBe(0);
});

it('says that there may be more than the listed failures', () => {
  expect(atLeast(20, 20, 393)).toBe('20+');
  expect(atLeast(20, 20, 20)).toBe('20');
  expect(atLeast(3, 20, 393)).toBe('3');
});
