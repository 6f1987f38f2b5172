import type { SessionItem } from '../../api/schema';
import { nanosBetween } from '../../base/format';
import { failedOf } from '../../base/progress';
import type { SessionUrl } from '../../base/url';

export const OUTCOMES = ['live', 'failed', 'slower', 'succeeded', 'other'] as const;

/** Whether a filter by outcome shows a session. */
export function hasOutcome({ state, outcome, slower }: SessionItem, wanted: string): boolean {
  if (wanted === 'slower') return slower !== null;
  if (state === 'live') return wanted === 'live';
  if (outcome === 'FAILED') return wanted === 'failed';
  return wanted === (outcome === 'SUCCEEDED' ? 'succeeded' : 'other');
}

export const keyOf = ({ session }: SessionItem) => session;
export const pathOf = ({ session }: SessionItem) => `/sessions/${encodeURIComponent(session)}`;
export const isElsewhere = ({ location }: SessionItem) => location !== 'local';
/** Failed attempts. */
export const failedIn = (session: SessionItem) => failedOf(session.states, session.stopped_by_libraries);
export const lasted = ({ first_ns, last_ns }: SessionItem) => nanosBetween(first_ns, last_ns);

export const toSession = ({ session }: SessionItem, lang?: string): SessionUrl => ({
  page: 'session',
  session,
  view: 'overview',
  filters: {},
  lang,
});

/** The value of a field by which the table is sorted. */
export function sortValue(session: SessionItem, field: string): string | number | null | undefined {
  if (field === 'outcome') return session.state === 'live' ? ' ' : session.outcome;
  if (field === 'failed') return failedIn(session);
  if (field === 'duration_ns') return lasted(session);
  return session[field as 'name' | 'tasks'];
}
