/** Requests that are sent while the scripts of the page are still loading. */

const KEPT_MS = 5_000;
const pending = new Map<string, Promise<Response>>();

/** Sends the request now. The first to ask for `path` within 5 s gets this answer. */
export function prefetch(path: string): void {
  const answer = fetch(path, { credentials: 'same-origin', headers: { Accept: 'application/json' } });
  // Whoever takes the answer sees the failure. Nobody may take it.
  answer.catch(() => undefined);
  pending.set(path, answer);
  setTimeout(() => pending.delete(path), KEPT_MS);
}

/** The prefetched answer, once. */
export function takePrefetched(path: string): Promise<Response> | undefined {
  const answer = pending.get(path);
  pending.delete(path);
  return answer;
}
