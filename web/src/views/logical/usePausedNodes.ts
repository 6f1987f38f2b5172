import { useMemo } from 'react';
import type { PausedTask } from '../../api/schema';
import { usePausedTasks } from '../../ui/PausedMark';
import { useSessionUrl } from '../../ui/useUrl';
import { type LogicalAnswer, pausedIn } from './logicalModel';

/** The paused tasks of each node and of the boxes around it, by the node's ID. */
export function usePausedNodes({ nodes }: LogicalAnswer): ReadonlyMap<string, readonly PausedTask[]> {
  const [{ filters }] = useSessionUrl();
  const tasks = usePausedTasks();
  return useMemo(() => pausedIn(nodes, tasks, filters), [nodes, tasks, filters]);
}
