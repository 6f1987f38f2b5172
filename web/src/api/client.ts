import { connectionEvents } from './connection';
import { apiPath, type Params } from './path';
import { takePrefetched } from './prefetch';

/**
 * The only place that talks to the server.
 *
 * Times are integers of ns since the epoch, beyond 2^53: `JSON.parse` rounds them to multiples of 256 ns.
 * That is far below what is shown (ms), and durations are small and exact, so nothing here parses numbers
 * by itself. Never send such a rounded time back as an exact key: cursors are opaque strings for that.
 */

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly remedy: string | null,
    /** What the message names. */
    readonly params: Record<string, string | number> = {},
  ) {
    super(message);
    this.name = 'ApiError';
  }
}

/** Whether there is no such thing, or this server has no such path (an older one, or a part switched off). */
export const isMissing = (error: Error | null) => error instanceof ApiError && error.status === 404;

/** Whether too many requests of this kind are running already: the same one succeeds a little later. */
export const isBusy = (error: Error | null) => error instanceof ApiError && error.code === 'busy';

export { apiPath, type Params };

async function request(path: string, init: RequestInit): Promise<Response> {
  let response: Response;
  const settled = connectionEvents.asked();
  try {
    const prefetched = init.method === undefined ? takePrefetched(path) : undefined;
    response = await (prefetched ?? fetch(path, { credentials: 'same-origin', ...init }));
  } catch (error) {
    if (!(error instanceof DOMException && error.name === 'AbortError')) connectionEvents.failed();
    throw error;
  } finally {
    settled();
  }
  // A proxy in between answers for a server that is away.
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
    // Not ours, or cut off: the status has to do.
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

export function get<T>(path: string, params?: Params, signal?: AbortSignal): Promise<T> {
  return requestJson<T>(apiPath(path, params), { signal, headers: { Accept: 'application/json' } });
}

/** `parse`: where `JSON.parse` would lose something. */
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

/** Of this tab alone: a cookie would go to every server on the host, whatever its port. */
const OPERATOR = 'rayscope.operator';

export function keepOperatorToken(token: string): void {
  try {
    sessionStorage.setItem(OPERATOR, token);
  } catch {
    // Without storage the token is asked for each time.
  }
}

/** The token that was given in this tab. */
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

/** An action of the operator (see ui/operator.tsx); a Blob is sent as it is. Null for an answer without a body. */
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

/** Trades the token for a cookie; throws ApiError 401 if it is wrong. */
export async function login(token: string): Promise<void> {
  await request('/api/login', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ token }),
  });
  connectionEvents.loggedIn();
}
