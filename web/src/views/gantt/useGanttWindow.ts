import { useCallback, useEffect, useRef, useState } from 'react';
import { type SessionUrl, withSettings } from '../../base/url';
import { absolute, relative, type Span } from '../shared/span';
import { within } from './gantt';

/** Delay between the last move and the update of the URL, ms. */
const PAUSE = 300;

/**
 * The window that is shown; null means everything. It moves immediately, and the URL is updated when the
 * moving stops. Windows are relative to `base` (ns since the epoch).
 */
export function useGanttWindow(
  url: SessionUrl,
  change: (next: (url: SessionUrl) => SessionUrl, options?: { replace?: boolean }) => void,
  base: number | null,
): readonly [Span | null, (next: Span | null, whole: Span) => void] {
  const from = url.settings?.from;
  const to = url.settings?.to;
  const [moved, setMoved] = useState<{ window: Span | null; from?: string; to?: string } | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);

  const inUrl = parse(base, from, to);
  // The moved window counts until the URL is no longer the one from which it was moved.
  const window = moved !== null && moved.from === from && moved.to === to ? moved.window : inUrl;

  const move = useCallback(
    (next: Span | null, whole: Span) => {
      if (base === null) return;
      const kept = next === null ? null : within(next, whole);
      setMoved({ window: kept, from, to });
      clearTimeout(timer.current);
      timer.current = setTimeout(() => {
        const settings = {
          from: kept === null ? undefined : absolute(base, Math.max(kept.begin, -base)),
          to: kept === null ? undefined : absolute(base, kept.end),
        };
        setMoved({ window: kept, ...settings });
        change((before) => withSettings(before, settings), { replace: true });
      }, PAUSE);
    },
    [base, change, from, to],
  );
  return [window, move];
}

function parse(base: number | null, from: string | undefined, to: string | undefined): Span | null {
  if (base === null) return null;
  const begin = relative(base, from);
  const end = relative(base, to);
  return begin !== null && end !== null && end > begin ? { begin, end } : null;
}
