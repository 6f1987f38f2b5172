import type { RunItem, SessionItem } from '../../api/schema';
import { type Nanos, nanosBetween } from '../../base/format';
import { failedOf } from '../../base/progress';
import type { SessionUrl } from '../../base/url';

/** A session with what its runs say. Runs are summarized once a job has ended. */
export interface SessionEntry {
  session: SessionItem;
  /** Failed attempts. */
  failed: number;
  /** The worst outcome of its jobs; null unless all are among the recent runs. */
  outcome: string | null;
  /** Its run that was slower than usual. */
  slower: RunItem | undefined;
}

export const OUTCOMES = ['live', 'failed', 'slower', 'succeeded', 'other'] as const;

/** Outcomes of jobs, the worst first. */
const WORST = ['FAILED', 'CUT_OFF', 'STOPPED', 'UNKNOWN', 'FINISHED', 'SUCCEEDED'];

/** The sessions with their runs, in the same order. */
export function toEntries(sessions: readonly SessionItem[], runs: readonly RunItem[]): SessionEntry[] {
  const bySession = new Map<string, RunItem[]>();
  for (const run of runs) {
    const own = bySession.get(run.session);
    if (own === undefined) bySession.set(run.session, [run]);
    else own.push(run);
  }
  return sessions.map((session) => toEntry(session, bySession.get(session.session) ?? []));
}

function toEntry(session: SessionItem, own: readonly RunItem[]): SessionEntry {
  const outcomes = new Set(own.map(({ outcome }) => outcome));
  return {
    session,
    failed: failedOf(session.states, session.stopped_by_libraries),
    outcome: own.length < session.jobs ? null : (WORST.find((outcome) => outcomes.has(outcome)) ?? null),
    slower: own.find(({ verdict }) => verdict === 'slower'),
  };
}

/** Whether a filter by outcome shows a session. */
export function hasOutcome({ session, outcome, slower }: SessionEntry, wanted: string): boolean {
  if (wanted === 'slower') return slower !== undefined;
  if (session.state === 'live') return wanted === 'live';
  if (outcome === 'FAILED') return wanted === 'failed';
  return wanted === (outcome === 'SUCCEEDED' ? 'succeeded' : 'other');
}

export const keyOf = ({ session }: SessionEntry) => session.session;
export const pathOf = ({ session }: SessionItem) => `/sessions/${encodeURIComponent(session)}`;
export const isElsewhere = ({ location }: SessionItem) => location !== 'local';

export const toSession = ({ session }: SessionItem, lang?: string): SessionUrl => ({
  page: 'session',
  session,
  view: 'overview',
  filters: {},
  lang,
});

const lasted = ({ first_ns, last_ns }: { first_ns: Nanos; last_ns: Nanos }) =>
  Number(nanosBetween(first_ns, last_ns));

/** The fields that the table can be sorted by. */
export const FIELDS: Record<string, (entry: SessionEntry) => number | string> = {
  name: ({ session }) => session.name ?? '',
  outcome: ({ session, outcome }) => (session.state === 'live' ? ' ' : (outcome ?? '~')),
  started: ({ session }) => Number(session.first_ns),
  lasted: ({ session }) => lasted(session),
  tasks: ({ session }) => session.tasks,
  failed: ({ failed }) => failed,
  nodes: ({ session }) => session.nodes,
  disk: ({ session }) => session.disk_bytes,
};
