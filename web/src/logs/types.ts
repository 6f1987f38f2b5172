/** Answers about log files (docs/logs.md). Offsets and sizes are bytes. */

export interface LogProblem {
  code: string;
  message: string;
  remedy: string;
}

export interface LogNode {
  node_id: string;
  state: string | null;
  node_ip: string | null;
  hostname: string | null;
  is_head: boolean;
  /** Null while the node was not asked. */
  files: number | null;
  problem: LogProblem | null;
}

export interface LogFile {
  node_id: string;
  name: string;
  kind: string;
  worker_id: string | null;
  job_id: string | null;
  pid: number | null;
  submission_id: string | null;
  actor_id: string | null;
  actor_class: string | null;
  size: number | null;
  kept: number;
  live: boolean;
  last_ns: number | null;
}

export interface LogFiles {
  session: string;
  live: boolean;
  nodes: LogNode[];
  files: LogFile[];
  total: number;
  left_out: number;
  keeping: {
    mode: 'workers' | 'all' | 'none';
    bytes: number;
    max_bytes: number;
    error: { message: string; remedy: string } | null;
  };
}

export type Level = 'debug' | 'info' | 'warning' | 'error' | 'critical';

export interface LogLine {
  offset: number;
  length: number;
  text: string;
  time_ns: number | null;
  level: Level | null;
  is_mark: boolean;
  is_cut: boolean;
  is_whole: boolean;
}

export interface LogPage {
  node_id: string;
  name: string;
  kind: string;
  live: boolean;
  problem: LogProblem | null;
  kept: number;
  begin: number;
  end: number;
  size: number;
  next: number;
  prev: number | null;
  more: boolean;
  missing: { begin: number; end: number }[];
  lines: LogLine[];
}

export interface LogPart {
  node_id: string;
  name: string;
  stream: string;
  begin: number;
  end: number | null;
  page: LogPage | null;
  problem: LogProblem | null;
}

export interface LogsOf {
  session: string;
  live: boolean;
  parts: LogPart[];
  notes: string[];
  left_out: number;
}

export interface LogSearch {
  session: string;
  items: (LogLine & { node_id: string; name: string })[];
  searched: { files: number; of: number; bytes: number };
  complete: boolean;
  not_searched: { node_id: string; name: string; why: string; bytes: number }[];
}
