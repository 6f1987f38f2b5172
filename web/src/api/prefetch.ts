/** Sends requests while the scripts of the page are still loading. */

const KEPT_MS = 5_000;
const pending = new Map<string, Promise<Response>>();

/** Sends the request immediately. The first caller of `takePrefetched(path)` within 5 s gets the answer. */
export function prefetch(path: string): void {
  const answer = fetch(path, { credentials: 'same-origin', headers: { Accept: 'application/json' } });
  // The caller of `takePrefetched` handles the failure, and there may be no caller.
  answer.catch(() => undefined);
  pending.set(path, answer);
  setTimeout(() => pending.delete(path), KEPT_MS);
}

/** The prefetched answer. Each answer is returned only once. */
export function takePrefetched(path: string): Promise<Response> | undefined {
  const answer = pending.get(path);
  pending.delete(path);
  return answer;
}
