import { type SessionUrl, toView } from '../../base/url';

/** A link to the tasks that were in flight at a given time, with the URL's filters. */
export function tasksAt(url: SessionUrl, at: number | null): SessionUrl {
  const times = at === null ? {} : { since_ns: String(at), until_ns: String(at) };
  return toView(url, 'tasks', { ...url.filters, ...times });
}
