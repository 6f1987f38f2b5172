import { useTranslation } from 'react-i18next';
import type { TaskDetail } from '../../api/schema';
import { Field, Fields, Section } from '../../ui/Drawer';
import { Time } from '../../ui/Time';
import words from '../../ui/theme/words.module.css';

/** The attempt's annotations, which user code made. For a counter, the last value is shown. */
export function Annotations({ task, attempt }: { task: TaskDetail; attempt: number }) {
  const { t } = useTranslation();
  const last = new Map(
    task.annotations.filter((note) => note.attempt === attempt).map((note) => [note.name, note]),
  );
  if (last.size === 0) return null;
  return (
    <Section title={t('flow.annotations')} testId="task-annotations">
      <Fields>
        {[...last.values()].map((note) => (
          <Field key={note.name} name={note.name}>
            <span className={words.breaks}>{note.value}</span>
            {note.kind === 'counter' && (
              <span className={words.dim}>
                {' '}
                <Time ns={note.time_ns} />
              </span>
            )}
          </Field>
        ))}
      </Fields>
    </Section>
  );
}
