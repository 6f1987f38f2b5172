import { IconChevronRight } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { TaskDetail } from '../../api/schema';
import { isDriver } from '../../ui/taskColumns';
import words from '../../ui/theme/words.module.css';
import css from './CallPath.module.css';

/** The functions on the way from the driver down to the task. */
export function CallPath({ task }: { task: TaskDetail }) {
  const { t } = useTranslation();
  const unknown = isDriver(task.task_id) ? t('task.driver') : t('common.unknown');
  const names = task.call_path.length > 0 ? task.call_path : [unknown];
  // The path starts below the driver. It is certain to be complete only for tasks that the driver itself
  // submitted.
  const path =
    task.parent !== null && isDriver(task.parent.task_id) && names.length === 1
      ? [t('task.driver'), ...names]
      : names;
  return (
    <div className={css.path} data-testid="call-path">
      {path.map((name, depth) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a function may call itself; the depth tells them apart.
        <span key={depth} className={css.pathStep}>
          {depth > 0 && <IconChevronRight size={12} className={words.dim} aria-hidden />}
          <span className={depth === path.length - 1 ? css.pathHere : undefined}>{name}</span>
        </span>
      ))}
    </div>
  );
}
