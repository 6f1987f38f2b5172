import { useTask } from '../../api/queries';
import { useSessionUrl } from '../../ui/useUrl';

/** The function of the task in the panel; null if there is none. Every view marks this function. */
export function useSelectedFunction(): string | null {
  const [url] = useSessionUrl();
  const task = useTask(url.session, url.task).data;
  if (url.task === undefined || task?.task_id !== url.task) return null;
  return task.attempts.find((attempt) => attempt.func_name !== null)?.func_name ?? null;
}
