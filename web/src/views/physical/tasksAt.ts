import { type SessionUrl, toView } from '../../base/url';

/** A link to the tasks in flight at a time, with the filters of a URL. */
export function tasksAt(url: SessionUrl, at: number | null): SessionUrl {
  const times = at === null ? {} : { since_ns: String(at), until_ns: String(at) };
  return toView(url, 'tasks', { ...url.filters, ...times });
}
