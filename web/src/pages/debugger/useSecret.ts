import { useQuery } from '@tanstack/react-query';
import { useId } from 'react';
import { send } from '../../api/client';
import type { TracedTask } from './traced';
import { pathOf } from './usePausedActions';

/**
 * Asks the debugger of a paused task. The answer may contain secrets, so it is dropped with the component
 * that shows it.
 */
export function useSecret<T>(task: TracedTask, what: 'variables' | 'source', body: object) {
  return useQuery({
    queryKey: ['paused', useId(), what, body],
    queryFn: () => send<T>('POST', pathOf(task, what), body),
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
}
