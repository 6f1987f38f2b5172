import { apiPath } from '../api/client';
import { isFlow, type SessionUrl, taskFilters } from '../base/url';

export const FORMATS = ['perfetto', 'speedscope', 'parquet'] as const;
type ExportFormat = (typeof FORMATS)[number];

/** The path from which the file is downloaded. Filters apply only to exports of tasks. */
export function exportPath(url: SessionUrl, format: ExportFormat): string {
  const ofTasks = url.view === 'tasks' || url.view === 'failures' || isFlow(url.view);
  return apiPath('/export', { format, session: url.session, ...(ofTasks && taskFilters(url.filters)) });
}

/** The path of the whole session as one file, which another Rayscope opens. */
export const sessionFilePath = ({ session }: SessionUrl) => apiPath('/sessions/file', { session });
