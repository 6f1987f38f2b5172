import { REPORT } from '../base/report';
import { apiPath, type ParamsOf } from './path';
import type { Paths } from './schema';

/** Sends requests while the scripts of the page are still loading. */

const KEPT_MS = 5_000;
const pending = new Map<string, Promise<Response>>();

/**
 * Sends the request immediately. If `get` is called with the same path and parameters within 5 s, the first
 * call gets the answer.
 */
export function prefetch<P extends keyof Paths>(path: P, params?: ParamsOf<P>): void {
  if (REPORT !== null) return;
  const url = apiPath(path, params);
  const answer = fetch(url, { credentials: 'same-origin', headers: { Accept: 'application/json' } });
  // The caller of `takePrefetched` handles the failure. There may be none.
  answer.catch(() => undefined);
  pending.set(url, answer);
  setTimeout(() => pending.delete(url), KEPT_MS);
}

/** The prefetched answer of a URL. Each answer is returned only once. */
export function takePrefetched(url: string): Promise<Response> | undefined {
  const answer = pending.get(url);
  pending.delete(url);
  return answer;
}
