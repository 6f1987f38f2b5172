import { useTranslation } from 'react-i18next';
import type { TaskAttempt } from '../../api/types';
import { stripAnsi } from '../../base/ansi';
import { CopyButton } from '../../ui/CopyButton';
import css from './AttemptError.module.css';

/** Why the attempt failed: the last line of a traceback first, then all of it. */
export function AttemptError({ attempt }: { attempt: TaskAttempt }) {
  const { t } = useTranslation();
  const message = stripAnsi(attempt.error?.message ?? '');
  const line = stripAnsi(attempt.error_summary ?? '').trim();
  return (
    <section className={css.failure} data-testid="task-error">
      <div className="rs-section-head">
        <h3>{attempt.error?.type ?? attempt.error_type ?? t('task.error')}</h3>
        {message !== '' && <CopyButton text={message} />}
      </div>
      {/* Of a long traceback the line that matters is the last: it goes first. */}
      {line !== '' && line !== message.trim() && <p className={css.failureLine}>{line}</p>}
      {attempt.error?.is_cut && <p className="rs-line rs-dim">{t('task.errorCut')}</p>}
      {message === '' ? (
        <p className="rs-line">{t('task.errorGone')}</p>
      ) : (
        <pre className={`rs-pre ${css.traceback}`}>{message}</pre>
      )}
    </section>
  );
}
