import { type SessionUrl, toView } from '../../base/url';

/** The tasks in flight at a time, of the filters of an address. */
export function tasksAt(url: SessionUrl, at: number | null): SessionUrl {
  const times = at === null ? {} : { since_ns: String(at), until_ns: String(at) };
  return toView(url, 'tasks', { ...url.filters, ...times });
}
