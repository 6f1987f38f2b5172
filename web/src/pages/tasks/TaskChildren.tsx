import { useTranslation } from 'react-i18next';
import type { TaskDetail } from '../../api/schema';
import { count } from '../../base/format';
import { toView } from '../../base/url';
import { Section } from '../../ui/Drawer';
import { Duration } from '../../ui/Duration';
import { Link } from '../../ui/Link';
import { MiniList } from '../../ui/MiniList';
import { TaskState } from '../../ui/TaskState';
import layout from '../../ui/theme/layout.module.css';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import shared from './tasks.module.css';

/** The first tasks that this task submitted. */
export function TaskChildren({ task }: { task: TaskDetail }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  if (task.children_total === 0) return null;
  return (
    <Section
      title={t('task.children')}
      testId="task-children"
      right={
        <>
          <span className={`${words.dim} ${words.num}`}>
            {task.children.length < task.children_total
              ? t('task.childrenSome', {
                  shown: count(task.children.length),
                  total: count(task.children_total),
                })
              : count(task.children_total)}
          </span>
          <Link to={toView(url, 'tasks', { caller_task_id: task.task_id })}>{t('task.childrenAll')}</Link>
        </>
      }
    >
      <MiniList>
        {task.children.map((child) => (
          <Link
            key={`${child.task_id}:${child.attempt}`}
            to={{ ...url, task: child.task_id, attempt: child.attempt }}
            className={`${layout.row} ${shared.miniRow}`}
          >
            <TaskState state={child.state} />
            <span className={words.ellipsis} title={child.name ?? child.task_id}>
              {child.name ?? child.task_id}
            </span>
            <Duration ns={child.duration_ns} />
          </Link>
        ))}
      </MiniList>
    </Section>
  );
}
