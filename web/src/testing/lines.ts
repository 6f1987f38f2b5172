import type { LinesAnswer } from '../api/schema';

/** An answer about the samples of a session, without any lines. */
export const linesAnswer = (parts: Partial<LinesAnswer> = {}): LinesAnswer => ({
  session: 'session_1',
  samples: 100,
  attempts: 2,
  hz: [1],
  first_ns: 1e18,
  last_ns: 1e18,
  is_enough: true,
  missing: null,
  phases: [],
  lines: [],
  lines_total: 0,
  self_lines_total: 0,
  frames: [],
  frames_total: 0,
  reports: 3,
  reports_read: 3,
  ...parts,
});
