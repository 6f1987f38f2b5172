/** Answers that are asked for while the scripts of the page are still on their way. */

const EARLY_MS = 5_000;
const asked = new Map<string, Promise<Response>>();

/** Ask now: who asks for `path` first, within 5 s, gets this answer. */
export function askEarly(path: string): void {
  const answer = fetch(path, { credentials: 'same-origin', headers: { Accept: 'application/json' } });
  // Whoever takes it sees the failure; nobody may.
  answer.catch(() => undefined);
  asked.set(path, answer);
  setTimeout(() => asked.delete(path), EARLY_MS);
}

/** The answer that was asked for early, once. */
export function takeEarly(path: string): Promise<Response> | undefined {
  const answer = asked.get(path);
  asked.delete(path);
  return answer;
}
