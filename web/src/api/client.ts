import { REPORT, recorded } from '../base/report';
import { connectionEvents } from './connection';
import { apiPath, type Params, type ParamsOf } from './path';
import { takePrefetched } from './prefetch';
import type { Paths } from './schema';

/**
 * The only module that talks to the server. Times are integers in ns since the epoch, which exceed 2^53, so
 * `JSON.parse` rounds them to multiples of 256 ns. The UI shows ms, and durations are small enough to be
 * exact, so it needs no number parser of its own. Never send a rounded time back as an exact key; use the
 * opaque cursor strings for that.
 */

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly remedy: string | null,
    /** The values that the message contains. */
    readonly params: Record<string, string | number> = {},
  ) {
    super(message);
    this.name = 'ApiError';
  }
}

/**
 * Whether the entity does not exist, or the server lacks the path because it is older or the feature is
 * disabled.
 */
export const isMissing = (error: Error | null) => error instanceof ApiError && error.status === 404;

/** Whether too many requests of this kind are already running. A retry a little later succeeds. */
export const isBusy = (error: Error | null) => error instanceof ApiError && error.code === 'busy';

export { apiPath, type ParamsOf };

async function request(path: string, init: RequestInit): Promise<Response> {
  let response: Response;
  const settled = connectionEvents.requestStarted();
  try {
    const prefetched = init.method === undefined ? takePrefetched(path) : undefined;
    if (REPORT !== null) response = recorded(REPORT, path, init.method);
    else response = await (prefetched ?? fetch(path, { credentials: 'same-origin', ...init }));
  } catch (error) {
    if (!(error instanceof DOMException && error.name === 'AbortError')) connectionEvents.failed();
    throw error;
  } finally {
    settled();
  }
  // The proxy in front of the server cannot reach it.
  if (response.status === 502 || response.status === 504) connectionEvents.failed();
  else connectionEvents.answered();
  if (response.ok) return response;
  throw await toError(response);
}

async function toError(response: Response): Promise<ApiError> {
  let detail: { code?: unknown; message?: unknown; remedy?: unknown; params?: unknown } = {};
  try {
    const body: unknown = await response.json();
    if (typeof body === 'object' && body !== null && 'error' in body && typeof body.error === 'object') {
      detail = body.error ?? {};
    }
  } catch {
    // The body is not Rayscope's or was cut off, so only the status is available.
  }
  return new ApiError(
    response.status,
    typeof detail.code === 'string' ? detail.code : `http_${response.status}`,
    typeof detail.message === 'string' ? detail.message : `${response.status} ${response.statusText}`,
    typeof detail.remedy === 'string' ? detail.remedy : null,
    typeof detail.params === 'object' && detail.params !== null
      ? (detail.params as Record<string, string | number>)
      : {},
  );
}

async function requestJson<T>(path: string, init: RequestInit, parse?: (text: string) => T): Promise<T> {
  try {
    const response = await request(path, init);
    return parse === undefined ? ((await response.json()) as T) : parse(await response.text());
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) connectionEvents.unauthorized();
    throw error;
  }
}

/**
 * `Q` rejects parameters that the path does not have. Without it, TypeScript would accept them in spread
 * objects.
 */
export function get<P extends keyof Paths, Q extends ParamsOf<P>>(
  path: P,
  params?: Q & Record<Exclude<keyof Q, Paths[P]['params']>, never>,
  signal?: AbortSignal,
): Promise<Paths[P]['answer']> {
  return requestJson(apiPath(path, params), { signal, headers: { Accept: 'application/json' } });
}

/** A file of an ended session without names, with the number of values replaced in each column. */
export async function anonymousFile(session: string, signal: AbortSignal) {
  const response = await request(apiPath('/sessions/file', { session, anonymise: 'true' }), { signal });
  const replaced = response.headers.get('X-Rayscope-Replaced') ?? '{}';
  return {
    name: `${session}.rayscope`,
    file: await response.blob(),
    replaced: JSON.parse(replaced) as Record<string, number>,
  };
}

/** `parse` replaces `JSON.parse` where that would lose precision. */
export function post<T>(
  path: string,
  body: unknown,
  params?: Params,
  how: { signal?: AbortSignal; parse?: (text: string) => T } = {},
): Promise<T> {
  const init = {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json' },
    body: JSON.stringify(body),
    signal: how.signal,
  };
  return requestJson<T>(apiPath(path, params), init, how.parse);
}

/**
 * Key of the operator token in sessionStorage, so that the token applies to this tab only. A cookie would be
 * sent to every server on the host, on any port.
 */
const OPERATOR = 'rayscope.operator';

export function keepOperatorToken(token: string): void {
  try {
    sessionStorage.setItem(OPERATOR, token);
  } catch {
    // Without storage, the user enters the token for each action.
  }
}

/** The operator token entered in this tab. */
export function operatorToken(): string | null {
  try {
    return sessionStorage.getItem(OPERATOR);
  } catch {
    return null;
  }
}

function operatorHeader(): Record<string, string> {
  const token = operatorToken();
  return token === null ? {} : { 'X-Rayscope-Operator': token };
}

/**
 * Sends an operator action (see ui/operator.tsx). A Blob is sent unchanged. Returns null if the answer has no
 * body.
 */
export async function send<T>(method: string, path: string, body?: unknown): Promise<T | null> {
  try {
    const response = await request(apiPath(path), {
      method,
      headers: {
        'Content-Type': body instanceof Blob ? body.type : 'application/json',
        Accept: 'application/json',
        ...operatorHeader(),
      },
      ...(body !== undefined && { body: body instanceof Blob ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return text === '' ? null : (JSON.parse(text) as T);
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) connectionEvents.unauthorized();
    throw error;
  }
}

/** Exchanges the token for a cookie. Throws ApiError 401 if the token is wrong. */
export async function login(token: string): Promise<void> {
  await request(apiPath('/login'), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ token }),
  });
  connectionEvents.loggedIn();
}
