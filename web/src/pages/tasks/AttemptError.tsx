import { useTranslation } from 'react-i18next';
import type { AttemptDetail } from '../../api/schema';
import { stripAnsi } from '../../base/ansi';
import { CopyButton } from '../../ui/CopyButton';
import { Section } from '../../ui/Drawer';
import words from '../../ui/theme/words.module.css';
import css from './AttemptError.module.css';

/** The last line of a traceback begins with the type of the exception. */
const EXCEPTION = /^[\w.]+(?=:|$)/;
const onOneLine = (text: string) => text.replace(/\s+/g, ' ').trim();

/** Why the attempt failed: first the last line of the traceback, then the whole traceback. */
export function AttemptError({ attempt }: { attempt: AttemptDetail }) {
  const { t } = useTranslation();
  const message = stripAnsi(attempt.error?.message ?? '');
  const line = stripAnsi(attempt.error_summary ?? '').trim();
  const type = attempt.error?.type ?? attempt.error_type;
  const raised = type === 'TASK_EXECUTION_EXCEPTION' ? EXCEPTION.exec(line)?.[0] : undefined;
  return (
    <div className={css.failure}>
      <Section
        title={raised ?? type ?? t('task.error')}
        right={message !== '' && <CopyButton text={message} />}
        testId="task-error"
      >
        {/* The last line of a long traceback is the important one, so it comes first. */}
        {!onOneLine(message).startsWith(onOneLine(line)) && <p className={css.failureLine}>{line}</p>}
        {attempt.error?.is_cut && <p className={`${words.line} ${words.dim}`}>{t('task.errorCut')}</p>}
        {message === '' ? (
          <p className={words.line}>{t('task.errorGone')}</p>
        ) : (
          <pre className={`${words.pre} ${css.traceback}`}>{message}</pre>
        )}
      </Section>
    </div>
  );
}
