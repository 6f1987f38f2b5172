import { useTranslation } from 'react-i18next';
import type { PausedTask } from '../../api/schema';
import { shortId } from '../../base/format';

/** Names a paused task: by its process or its ID until its definition has arrived. */
export function useTaskName(): (task: PausedTask) => string {
  const { t } = useTranslation();
  return (task) => {
    if (task.is_driver) return t('task.driver');
    const id = task.task_id === null ? t('common.unknown') : shortId(task.task_id);
    return task.name ?? task.legacy?.title ?? id;
  };
}
