import { useCallback, useEffect, useRef, useState } from 'react';
import { type SessionUrl, withSettings } from '../../base/url';
import { absolute, relative, type Span } from '../shared/span';
import { within } from './gantt';

/** Time after the last move before the URL has it. ms. */
const PAUSE = 300;

/**
 * The window that one looks at, or null for all of it: moves at once, and the URL follows when it rests.
 * `base`: the time (ns since the epoch) from which windows count.
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
  // Until the URL says something else than what it said when we moved.
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
