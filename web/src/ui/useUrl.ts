import { useCallback, useMemo, useSyncExternalStore } from 'react';
import { address, moveTo } from '../base/address';
import { formatUrl, parseAddress, type SessionUrl, type Url } from '../base/url';

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

/** The current URL inside a session, and a function that changes it. */
export function useSessionUrl(): readonly [
  SessionUrl,
  (change: (url: SessionUrl) => SessionUrl, options?: { replace?: boolean }) => void,
] {
  const url = useUrl();
  const change = useCallback((next: (url: SessionUrl) => SessionUrl, options?: { replace?: boolean }) => {
    // Read the address again, since two changes may happen before the next render.
    const now = parseAddress(address());
    if (now.page === 'session') go(next(now), options);
  }, []);
  if (url.page !== 'session') throw new Error('not inside a session');
  return [url, change] as const;
}
