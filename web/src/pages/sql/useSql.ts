import { useMutation } from '@tanstack/react-query';
import { useCallback, useEffect, useRef, useState } from 'react';
import { post } from '../../api/client';
import { parseAnswer, type Result } from './result';

/** Maximum number of rows that are fetched. If there are more, the page says so. */
export const MAX_ROWS = 10_000;

/**
 * Runs one query at a time. A new query, `cancel`, or leaving the page stops the running one, on the server
 * too.
 */
export function useSql(session: string) {
  const request = useRef<AbortController>(undefined);
  const [isCancelled, setCancelled] = useState(false);
  useEffect(() => () => request.current?.abort(), []);
  const { mutate, reset, ...query } = useMutation({
    mutationFn: (sql: string) => {
      request.current?.abort();
      request.current = new AbortController();
      const { signal } = request.current;
      return post<Result>('/sql', { sql, session, limit: MAX_ROWS }, undefined, {
        signal,
        parse: parseAnswer,
      });
    },
  });
  const run = useCallback(
    (sql: string) => {
      setCancelled(false);
      mutate(sql);
    },
    [mutate],
  );
  const cancel = useCallback(() => {
    request.current?.abort();
    reset();
    setCancelled(true);
  }, [reset]);
  return { ...query, run, cancel, isCancelled };
}
