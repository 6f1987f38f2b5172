import type { LogLine } from './schema';

export type Level = NonNullable<LogLine['level']>;
