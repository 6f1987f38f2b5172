import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { States } from '../../api/jobs';
import { useSlowerRuns } from '../../api/runs';
import type { Item } from '../../api/types';
import { count } from '../../base/format';
import { progressOf } from '../../base/progress';
import { CopyId } from '../../ui/CopyId';
import { Dash } from '../../ui/Dash';
import { Duration } from '../../ui/Duration';
import { SlowerMark } from '../../ui/runs/SlowerMark';
import { StackedBar } from '../../ui/StackedBar';
import type { Column } from '../../ui/table/columns';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { EntityView } from './EntityView';
import { JobPage } from './JobPage';
import css from './JobsPage.module.css';
import { jobDuration } from './jobDuration';
import { SubmitJob } from './SubmitJob';

/** The list of jobs, or the page of one job. */
export default function JobsPage() {
  const [{ item }] = useSessionUrl();
  return item === undefined ? <JobList /> : <JobPage key={item} id={item} />;
}

function JobList() {
  const { t } = useTranslation();
  const [{ session }] = useSessionUrl();
  const slower = useSlowerRuns(session);
  const columns = useMemo<Record<string, Column<Item>>>(
    () => ({
      tasks: {
        id: 'tasks',
        header: t('jobs.progress'),
        width: 160,
        cell: (job) => (
          <ProgressCell states={job.tasks ?? {}} internalsStopped={job.stopped_by_libraries ?? 0} />
        ),
      },
      // A submission without a driver is recorded under its submission id.
      job_id: {
        id: 'job_id',
        header: t('field.job_id'),
        width: 104,
        sort: 'job_id',
        cell: (job) => (job.job_id === job.submission_id ? <Dash /> : <CopyId id={String(job.job_id)} />),
      },
      duration: {
        id: 'duration',
        header: t('time.duration'),
        width: 112,
        align: 'right',
        cell: (job) => (
          <>
            <SlowerMark run={slower.find(({ job_id: id }) => id === job.job_id)} short />{' '}
            <Duration ns={jobDuration(job)} />
          </>
        ),
      },
    }),
    [t, slower],
  );
  return (
    <EntityView
      view="jobs"
      extras={{
        columns,
        toolbar: <SubmitJob />,
      }}
    />
  );
}

function ProgressCell({ states, internalsStopped }: { states: States; internalsStopped: number }) {
  const { t } = useTranslation();
  const progress = progressOf(states, internalsStopped);
  if (progress.all === 0) return <Dash />;
  return (
    <span className={css.progress}>
      <StackedBar states={states} stopped={internalsStopped} />
      <span className={`${words.num} ${css.share}`}>
        {progress.failed > 0 ? (
          <span className={css.failed}>{t('jobs.failed', { n: count(progress.failed) })}</span>
        ) : (
          `${count(progress.ended)} / ${count(progress.all)}`
        )}
      </span>
    </span>
  );
}
