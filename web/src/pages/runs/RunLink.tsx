import { VisuallyHidden } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { RunItem } from '../../api/schema';
import type { SessionUrl } from '../../base/url';
import { Link } from '../../ui/Link';

export const toJob = (run: Pick<RunItem, 'session' | 'job_id'>, lang?: string): SessionUrl => ({
  page: 'session',
  session: run.session,
  view: 'jobs',
  filters: {},
  item: run.job_id,
  lang,
});

/** A link to the job of a run, or only its content if the record is deleted. */
export function RunLink(props: {
  run: Pick<RunItem, 'session' | 'job_id' | 'has_record'>;
  lang?: string;
  children?: ReactNode;
  className?: string;
  title?: string;
  label?: string;
  testId?: string;
}) {
  const { run, lang, children, className, title, label, testId } = props;
  const { t } = useTranslation();
  if (run.has_record)
    return (
      <Link to={toJob(run, lang)} {...{ className, title, label, testId }}>
        {children}
      </Link>
    );
  return (
    <span
      className={className}
      title={[title, t('runs.sessionGone')].filter(Boolean).join('\n')}
      data-testid={testId}
    >
      {children}
      {label && <VisuallyHidden>{label}</VisuallyHidden>}
    </span>
  );
}
