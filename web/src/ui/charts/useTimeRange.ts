import { useCallback, useMemo } from 'react';
import { useSessions } from '../../api/queries';
import type { SessionItem } from '../../api/schema';
import type { Page } from '../../api/types';
import { useSessionUrl } from '../useUrl';
import { type Bounds, type Choice, choiceOf, withChoice } from './timeRange';

export interface TimeRange {
  choice: Choice;
  bounds: Bounds;
  /** False until the bounds of the session are known. */
  ready: boolean;
  set: (choice: Choice) => void;
  /** Resets the range to the page's default. */
  reset: () => void;
}

const UNKNOWN: Bounds = { first: null, last: null, live: false };

/** The bounds of a session. A live session ends now, even if its last data is older. */
function boundsOf(page: Page<SessionItem>, name: string): Bounds | null {
  const found = page.items.find((item) => item.session === name);
  if (found === undefined) return null;
  const live = found.state === 'live';
  return {
    first: found.first_ns === null ? null : found.first_ns / 1e6,
    last: live || found.last_ns === null ? null : found.last_ns / 1e6,
    live,
  };
}

/** The time range of the page's charts, from the URL. The bounds are those of `session`. */
export function useTimeRange(session?: string): TimeRange {
  const [url, change] = useSessionUrl();
  const name = session ?? url.session;
  const select = useCallback((page: Page<SessionItem>) => boundsOf(page, name), [name]);
  const sessions = useSessions(select);
  const bounds = sessions.data ?? UNKNOWN;
  const { live } = bounds;
  const choice = useMemo(() => choiceOf(url, live), [url, live]);
  const set = useCallback((next: Choice) => change((before) => withChoice(before, next)), [change]);
  const reset = useCallback(() => change((before) => withChoice(before, null)), [change]);
  return { choice, bounds, ready: sessions.data != null || sessions.error !== null, set, reset };
}
