import { useSyncExternalStore } from 'react';

/** Whether the server answers, as seen from the requests that the pages make anyway. */
export interface Connection {
  /** When the last answer came, ms since the epoch; null before the first one. */
  lastAnswer: number | null;
  /** Requests in a row that got no answer. */
  failures: number;
  /** When the oldest request began that is still open, ms since the epoch; null if none is. */
  waitingSince: number | null;
  /** The server answered 401: the login page takes over. */
  needsLogin: boolean;
}

/** Time between refreshes, and the longest one while the server is away. ms. */
export const REFRESH = 2_000;
export const REFRESH_AWAY = 10_000;
/** A session that is over seldom changes. */
export const REFRESH_ENDED = 5_000;
/** A server that answers nothing for so long is stuck. ms. */
export const SILENT_AFTER = 6_000;
/** Older data than this is called stale. ms. */
export const STALE_AFTER = 15_000;

let connection: Connection = { lastAnswer: null, failures: 0, waitingSince: null, needsLogin: false };
/** When the open requests began, in that order. */
const open = new Map<symbol, number>();
const listeners = new Set<() => void>();

function set(next: Connection): void {
  connection = next;
  for (const listener of listeners) listener();
}

function settle(request: symbol): void {
  open.delete(request);
  set({ ...connection, waitingSince: open.values().next().value ?? null });
}

export const connectionEvents = {
  /** A request begins; what is returned is to be called when it has ended, in whatever way. */
  asked(): () => void {
    const request = Symbol();
    open.set(request, Date.now());
    if (connection.waitingSince === null) set({ ...connection, waitingSince: Date.now() });
    return () => settle(request);
  },
  answered(): void {
    set({ ...connection, lastAnswer: Date.now(), failures: 0 });
  },
  failed(): void {
    set({ ...connection, failures: connection.failures + 1 });
  },
  unauthorized(): void {
    if (!connection.needsLogin) set({ ...connection, lastAnswer: Date.now(), failures: 0, needsLogin: true });
  },
  loggedIn(): void {
    set({ ...connection, needsLogin: false });
  },
};

/**
 * Whether requests wait and nothing has come for so long that the server must be stuck: it takes connections,
 * so nothing fails. An answer to any of them shows that only the others take their time.
 */
export function isSilent({ waitingSince, lastAnswer }: Connection, now: number): boolean {
  return waitingSince !== null && now - Math.max(waitingSince, lastAnswer ?? 0) > SILENT_AFTER;
}

/** 2 s while the server answers, then 4, 8, 10, 10, ... s. Several queries fail at once: count rounds. */
export function refreshInterval(base: number = REFRESH, failures: number = connection.failures): number {
  if (failures === 0) return base;
  return Math.min(REFRESH_AWAY, REFRESH * 2 ** Math.min(Math.ceil(failures / 3), 3));
}

/** What `select` takes of the connection: then only what changes that is rendered anew, not each request. */
export function useConnection<T>(select: (connection: Connection) => T): T {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => select(connection),
  );
}
