import { useTranslation } from 'react-i18next';
import type { PausedTask } from '../../api/schema';
import { shortId } from '../../base/format';

/** Names a paused task: by its ID until its definition has arrived. */
export function useTaskName(): (task: PausedTask) => string {
  const { t } = useTranslation();
  return (task) => (task.is_driver ? t('task.driver') : (task.name ?? shortId(task.task_id)));
}
