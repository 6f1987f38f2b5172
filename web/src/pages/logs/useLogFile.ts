import { useQuery } from '@tanstack/react-query';
import { useCallback, useEffect, useRef, useState } from 'react';
import { get } from '../../api/client';
import { refreshInterval } from '../../api/connection';
import { answerTo } from '../../api/queries';
import type { Filters } from '../../base/url';
import { type Loaded, started, withAfter, withBefore } from '../../ui/logs/lines';

/**
 * The part of a file to show, by default its end. `line` is the offset of the first line; `since` is in ns.
 */
export interface Look {
  session: string;
  node: string;
  file: string;
  line?: string;
  since?: string;
  until?: string;
  q?: string;
  regex?: boolean;
  level?: string;
  begin?: number;
  end?: number | null;
}

const PAGE = 1_000;
const PAGE_LINES = 2_000;
const FOLLOW_MS = 2_000;

/**
 * The loaded lines of a file and functions that load more. With `follow`, new lines are loaded automatically.
 */
export function useLogFile(look: Look, follow: boolean) {
  const key = JSON.stringify(look);
  const [state, setState] = useState<{ key: string; loaded?: Loaded; error?: Error }>({ key });
  const [loading, setLoading] = useState<'start' | 'before' | 'after' | null>('start');
  const [attempt, setAttempt] = useState(0);
  const busy = useRef(false);
  const current = useRef(key);
  current.current = key;

  const ask = useCallback(
    (more: Record<string, string | number | undefined>, signal?: AbortSignal) => {
      const request = JSON.parse(key) as Look;
      return get(
        '/logs/file',
        {
          session: request.session,
          node_id: request.node,
          name: request.file,
          q: request.q,
          regex: request.regex ? 1 : undefined,
          level: request.level,
          begin: request.begin,
          end: request.end,
          until_ns: request.until,
          ...more,
        },
        signal,
      );
    },
    [key],
  );

  // biome-ignore lint/correctness/useExhaustiveDependencies: changing `attempt` retries.
  useEffect(() => {
    const request = JSON.parse(key) as Look;
    const stop = new AbortController();
    setLoading('start');
    busy.current = true;
    ask({ offset: request.line, since_ns: request.since, limit: PAGE }, stop.signal)
      .then(
        (page) => setState({ key, loaded: started(page) }),
        (error: Error) => {
          if (!stop.signal.aborted) setState({ key, error });
        },
      )
      .finally(() => {
        if (stop.signal.aborted) return;
        busy.current = false;
        setLoading(null);
      });
    return () => stop.abort();
  }, [key, ask, attempt]);

  const loaded = state.key === key ? state.loaded : undefined;
  const latest = useRef(loaded);
  latest.current = loaded;

  const more = useCallback(
    async (where: 'before' | 'after') => {
      const known = latest.current;
      if (busy.current || known === undefined) return;
      if (where === 'before' && known.prev === null) return;
      busy.current = true;
      setLoading(where);
      try {
        const page =
          where === 'before'
            ? await ask({ before: known.prev ?? 0, limit: PAGE_LINES })
            : await ask({ offset: known.next, limit: PAGE_LINES });
        if (current.current === key)
          setState((now) =>
            now.key !== key || now.loaded === undefined
              ? now
              : { key, loaded: (where === 'before' ? withBefore : withAfter)(now.loaded, page) },
          );
      } catch {
        // Keep the loaded lines; the next refresh retries.
      } finally {
        if (current.current === key) {
          busy.current = false;
          setLoading(null);
        }
      }
    },
    [ask, key],
  );

  useEffect(() => {
    if (!follow) return;
    let timer: ReturnType<typeof setTimeout>;
    const turn = async () => {
      if (!document.hidden) await more('after');
      timer = setTimeout(turn, refreshInterval(latest.current?.more ? 100 : FOLLOW_MS));
    };
    timer = setTimeout(turn, FOLLOW_MS);
    return () => clearTimeout(timer);
  }, [follow, more]);

  return {
    loaded,
    error: state.key === key ? state.error : undefined,
    loading: loaded === undefined && state.error === undefined ? ('start' as const) : loading,
    before: useCallback(() => void more('before'), [more]),
    after: useCallback(() => void more('after'), [more]),
    retry: useCallback(() => setAttempt((tried) => tried + 1), []),
  };
}

export function useLogFiles(session: string, hidesEmpty: boolean, node?: string, q?: string) {
  const params = { session, node_id: node, q, hide_empty: hidesEmpty ? 1 : undefined };
  return useQuery({
    ...answerTo('/logs', params),
    placeholderData: (before) => before,
    refetchInterval: () => refreshInterval(8_000),
  });
}

export function useLogSearch(
  session: string,
  q: string | undefined,
  regex: boolean,
  level: string | undefined,
  { since_ns, until_ns }: Pick<Filters, 'since_ns' | 'until_ns'>,
) {
  const params = { session, q, regex: regex ? 1 : undefined, level, since_ns, until_ns, limit: 500 };
  return useQuery({
    ...answerTo('/logs/search', params),
    enabled: q !== undefined && q !== '',
    refetchInterval: false,
    staleTime: 30_000,
  });
}
