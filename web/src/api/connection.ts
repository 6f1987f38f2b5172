import { useSyncExternalStore } from 'react';
import { REPORT } from '../base/report';

/** Whether the server answers, judged by the requests that the pages send anyway. */
export interface Connection {
  /** When the last answer arrived, in ms since the epoch; null before the first one. */
  lastAnswer: number | null;
  /** Consecutive requests without an answer. */
  failures: number;
  /** When the oldest open request was sent, in ms since the epoch; null if none is open. */
  waitingSince: number | null;
  /** The server answered 401, so the login page is shown. */
  needsLogin: boolean;
}

/** Interval between refreshes, ms. */
export const REFRESH = 2_000;
export const REFRESH_AWAY = 10_000;
/** The longest interval of a timer, ms: a report never changes. */
const NEVER = 2 ** 31 - 1;
/** Interval between refreshes of ended sessions, which rarely change, ms. */
const REFRESH_ENDED = 5_000;
/** The server counts as stuck after this long without any answer, ms. */
export const SILENT_AFTER = 6_000;
/** Data older than this is shown as stale, ms. */
export const STALE_AFTER = 15_000;

let connection: Connection = { lastAnswer: null, failures: 0, waitingSince: null, needsLogin: false };
/** Start times of the open requests, oldest first. */
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
  /** Registers a request. The returned function must be called when it ends, successfully or not. */
  requestStarted(): () => void {
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
 * Whether requests have waited so long without any answer that the server must be stuck. A stuck server
 * accepts connections, so no request fails. If it answers any request, only the others are slow.
 */
export function isSilent({ waitingSince, lastAnswer }: Connection, now: number): boolean {
  return waitingSince !== null && now - Math.max(waitingSince, lastAnswer ?? 0) > SILENT_AFTER;
}

/**
 * Time until the next refresh, ms: `base` while the server answers, then 4, 8, 10, 10, ... s. Three failed
 * requests count as one round, since several queries fail at once.
 */
export function refreshInterval(base: number = REFRESH, failures: number = connection.failures): number {
  if (REPORT !== null) return NEVER;
  if (failures === 0) return base;
  return Math.min(REFRESH_AWAY, REFRESH * 2 ** Math.min(Math.ceil(failures / 3), 3));
}

export const refreshLive = () => refreshInterval();
export const refreshEnded = () => refreshInterval(REFRESH_ENDED);

/**
 * The part of the connection that `select` picks. The component renders again only when that part changes.
 */
export function useConnection<T>(select: (connection: Connection) => T): T {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => select(connection),
  );
}
