import { createContext, useCallback, useContext, useMemo, useSyncExternalStore } from 'react';
import { address, moveTo } from '../base/address';
import { formatUrl, type ListUrl, parseAddress, type SessionUrl, type Url } from '../base/url';

const MOVED = 'rayscope:moved';

function subscribe(listener: () => void): () => void {
  window.addEventListener('popstate', listener);
  window.addEventListener(MOVED, listener);
  return () => {
    window.removeEventListener('popstate', listener);
    window.removeEventListener(MOVED, listener);
  };
}

export function go(url: Url, options: { replace?: boolean } = {}): void {
  const target = formatUrl(url);
  if (target === address()) return;
  moveTo(target, options.replace);
  window.dispatchEvent(new Event(MOVED));
}

/** The current URL; the component renders again when it changes. */
export function useUrl(): Url {
  const here = useSyncExternalStore(subscribe, address);
  return useMemo(() => parseAddress(here), [here]);
}

/** A URL inside a session, and a function that changes it. */
export type SessionState = readonly [
  SessionUrl,
  (change: (url: SessionUrl) => SessionUrl, options?: { replace?: boolean }) => void,
];

/** The state of a part of a page that shows another session than the address, such as one side of two. */
export const SessionContext = createContext<SessionState | null>(null);

/**
 * The URL of a page with filters, and a function that changes it: that of the surrounding
 * {@link SessionContext}, otherwise that of the address.
 */
export function useListUrl() {
  const own = useContext(SessionContext);
  const url = useUrl();
  const change = useCallback(<U extends ListUrl>(next: (url: U) => U, options?: { replace?: boolean }) => {
    // Read the address again, since two changes may happen before the next render.
    const now = parseAddress(address());
    if ('filters' in now) go(next(now as U), options);
  }, []);
  if (own !== null) return own as unknown as readonly [ListUrl, typeof change];
  if (!('filters' in url)) throw new Error('no page with filters');
  return [url, change] as const;
}

/** Likewise, inside a session. */
export function useSessionUrl(): SessionState {
  const [url, change] = useListUrl();
  if (url.page !== 'session') throw new Error('not inside a session');
  return [url, change];
}
