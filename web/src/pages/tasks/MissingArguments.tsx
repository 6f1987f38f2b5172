import { useTranslation } from 'react-i18next';
import type { TaskDetail } from '../../api/schema';
import { shortId } from '../../base/format';
import { Section } from '../../ui/Drawer';
import { Link } from '../../ui/Link';
import { MiniList } from '../../ui/MiniList';
import layout from '../../ui/theme/layout.module.css';
import words from '../../ui/theme/words.module.css';
import { useStateName } from '../../ui/useStateName';
import { useSessionUrl } from '../../ui/useUrl';
import shared from './tasks.module.css';

/** The tasks whose results this task is waiting for as arguments. */
export function MissingArguments({ task }: { task: TaskDetail }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const stateName = useStateName();
  if (task.waits_for.length === 0) return null;
  return (
    <Section title={t('jobs.pending')} testId="task-waits-for">
      <p className={shared.waitsFor}>{`${t('nodes.reasons.arguments')} ${t('nodes.remedies.arguments')}`}</p>
      <MiniList>
        {task.waits_for.map((one) => (
          <Link
            key={one.task_id}
            to={{ ...url, task: one.task_id, attempt: undefined }}
            className={`${layout.row} ${shared.miniRow}`}
          >
            <span className={words.ellipsis}>{one.name ?? shortId(one.task_id)}</span>
            <span className={words.dim}>{stateName(one.state)}</span>
            <span className={words.num}>{shortId(one.task_id)}</span>
          </Link>
        ))}
      </MiniList>
    </Section>
  );
}
