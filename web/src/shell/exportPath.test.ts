import { expect, test } from 'vitest';
import type { SessionUrl } from '../base/url';
import { exportPath, sessionFilePath } from './exportPath';

const url: SessionUrl = {
  page: 'session',
  session: 'session_1',
  view: 'gantt',
  filters: { job_id: '01000000', q: 'a&b' },
};

test('task filters apply to the export, those of other lists do not', () => {
  expect(exportPath(url, 'speedscope')).toBe(
    '/api/v1/export?format=speedscope&session=session_1&job_id=01000000&q=a%26b',
  );
  for (const view of ['tasks', 'failures', 'stack'] as const)
    expect(exportPath({ ...url, view }, 'parquet')).toContain('&job_id=01000000');
  expect(exportPath({ ...url, view: 'nodes' }, 'parquet')).toBe(
    '/api/v1/export?format=parquet&session=session_1',
  );
  const failures = { ...url, view: 'failures', filters: { outcome: 'final' } } as const;
  expect(exportPath(failures, 'parquet')).toBe('/api/v1/export?format=parquet&session=session_1');
});

test('a session file has the whole session', () => {
  expect(sessionFilePath(url)).toBe('/api/v1/sessions/file?session=session_1');
});
