/** Response types for log files (docs/reference/logs.md). Offsets and sizes are in bytes. */
import type { LogLine } from './schema';

export type {
  LogFile,
  LogFilesAnswer as LogFiles,
  LogLine,
  LogNode,
  LogPage,
  LogPart,
  LogProblem,
  LogSearchAnswer as LogSearch,
  LogStyle,
} from './schema';

export type Level = NonNullable<LogLine['level']>;
