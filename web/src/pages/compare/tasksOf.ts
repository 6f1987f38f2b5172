import type { ComparedRun } from '../../api/schema';
import { type SessionUrl, slowestOf, withFilter } from '../../base/url';

/** The attempts of a function in a run, slowest first. */
export function tasksOf({ session, job_id: job }: ComparedRun, name: string, lang?: string): SessionUrl {
  const url: SessionUrl = { page: 'session', session, view: 'tasks', filters: {}, lang };
  return withFilter(slowestOf(url, { func_name: name, type: null }), 'job_id', job || undefined);
}
