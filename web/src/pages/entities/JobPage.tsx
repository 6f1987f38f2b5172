import { Alert } from '@mantine/core';
import { IconArrowLeft, IconBriefcaseOff } from '@tabler/icons-react';
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { isMissing } from '../../api/client';
import { isOfDriver, isRunning } from '../../api/jobs';
import { useAnswer } from '../../api/queries';
import { useRun } from '../../api/runs';
import type { JobDetail } from '../../api/schema';
import { bytes, count, duration, programName } from '../../base/format';
import { progressOf } from '../../base/progress';
import { REPORT } from '../../base/report';
import { isFlow, toView } from '../../base/url';
import { ActivityTrack } from '../../ui/activity/ActivityTrack';
import { useActivity } from '../../ui/activity/useActivity';
import { CopyId } from '../../ui/CopyId';
import { DeathSteps, useDeath } from '../../ui/DeathCause';
import { Duration } from '../../ui/Duration';
import { EmptyState } from '../../ui/EmptyState';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { EventLines, usePlatformEvents } from '../../ui/EventLines';
import { ItemState } from '../../ui/ItemState';
import { AnswerPanel } from '../../ui/insights/AnswerPanel';
import { Link } from '../../ui/Link';
import { LogPanel } from '../../ui/logs/LogPanel';
import { Profile } from '../../ui/Profile';
import { FailuresPanel } from '../../ui/panels/FailuresPanel';
import { Panel, PanelBody } from '../../ui/panels/Panel';
import { SlowerMark } from '../../ui/runs/SlowerMark';
import { Stat } from '../../ui/Stat';
import { useSession } from '../../ui/session';
import { Time } from '../../ui/Time';
import layout from '../../ui/theme/layout.module.css';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { EntityFields } from './EntityFields';
import { JobActions } from './JobActions';
import { JobBell } from './JobBell';
import css from './JobPage.module.css';
import { jobDuration } from './jobDuration';
import { ProgressCount, ProgressTable, useEntityProgress } from './ProgressTable';

/** The page of a job. `id` is its job id or, until its driver runs, its submission id. */
export function JobPage({ id }: { id: string }) {
  const { t } = useTranslation();
  const [url, change] = useSessionUrl();
  const { data: job, error } = useAnswer('/jobs/{job_id}', { job_id: id, session: url.session });
  // A submission gets a job id once its driver runs.
  const known = job === undefined ? undefined : (job.alias_of ?? job.job_id);
  useEffect(() => {
    if (known !== undefined && known !== id)
      change((before) => ({ ...before, item: known }), { replace: true });
  }, [known, id, change]);
  if (job === undefined)
    return isMissing(error) ? (
      <EmptyState icon={<IconBriefcaseOff size={26} />} title={t('jobs.none', { id })}>
        {t('jobs.noneText')} <Link to={toView(url, 'jobs')}>{t('jobs.all')}</Link>
      </EmptyState>
    ) : error !== null ? (
      <ErrorPanel error={error} />
    ) : null;
  return <Job job={job} />;
}

function Job({ job }: { job: JobDetail }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const id = job.job_id;
  const hasDriver = isOfDriver(id);
  const filters = { job_id: id };
  const activity = useActivity(url.session, filters).data;
  return (
    <div className={layout.scrollPage} data-testid="job-page">
      <JobHead job={job} />
      {hasDriver && <JobNumbers job={job} />}
      {hasDriver && <JobLinks job={job} />}
      <JobEnd job={job} />
      {hasDriver && activity !== undefined && activity.begin_ns !== null && (
        <section className={css.block} data-testid="job-timeline">
          <ActivityTrack activity={activity} filters={filters} />
        </section>
      )}
      {hasDriver && (
        <div className={css.block}>
          <Profile of={filters} canRun={isRunning(job)} />
        </div>
      )}
      <div className={css.panels}>
        <PlatformEvents job={job} />
        {hasDriver && <AnswerPanel job={id} />}
        {hasDriver && <FailuresPanel filters={filters} />}
        {hasDriver && <JobFunctions id={id} />}
        <Panel title={t('jobs.logs')} testId="job-logs" wide>
          <LogPanel of={filters} />
        </Panel>
        <Environment job={job} />
      </div>
    </div>
  );
}

/** Why a job ended, if not because its program finished, and what Ray says about it. */
function JobEnd({ job }: { job: JobDetail }) {
  const { t } = useTranslation();
  const death = useDeath('job', job.job_id);
  // A message about an exit code alone is Rayscope's, and the cause says the same.
  const message = job.end_known_by === 'exit_code' ? null : job.message;
  if (death !== undefined && death.cause !== 'finished')
    return (
      <div className={css.block}>
        <Panel title={t('death.title')} testId="death-cause" wide>
          <div className={css.cause}>
            <DeathSteps death={death} />
            {message !== null && <p className={`${words.lines} ${words.dim}`}>{message}</p>}
          </div>
        </Panel>
      </div>
    );
  return job.message === null ? null : (
    <Alert color={job.state === 'FAILED' ? 'red' : 'gray'} variant="light" className={css.block}>
      <span className={words.lines}>{job.message}</span>
    </Alert>
  );
}

/** What Kubernetes reported during a job. Hidden if nothing. */
function PlatformEvents({ job }: { job: JobDetail }) {
  const { t } = useTranslation();
  const events = usePlatformEvents(job.start_ns, job.end_ns);
  if (events.length === 0) return null;
  return (
    <Panel title={t('events.ofPlatform')} testId="platform-events" wide>
      <div className={css.cause}>
        <EventLines events={events} />
      </div>
    </Panel>
  );
}

function JobHead({ job }: { job: JobDetail }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const entrypoint = job.entrypoint ?? '';
  return (
    <header className={css.head}>
      <Link
        to={{ ...url, item: undefined, task: undefined, attempt: undefined }}
        className={css.back}
        label={t('jobs.all')}
        title={t('jobs.all')}
        testId="job-back"
      >
        <IconArrowLeft size={18} aria-hidden />
      </Link>
      <h2 className={css.name} title={entrypoint} data-testid="job-name">
        {programName(entrypoint) || job.job_id}
      </h2>
      <ItemState state={job.state} view="jobs" />
      <CopyId id={job.job_id} />
      <span className={words.dim}>
        <Time ns={job.start_ns} />
        {' · '}
        <Duration ns={jobDuration(job)} />
      </span>
      <span className={css.acts}>
        {isRunning(job) && REPORT === null && <JobBell job={job} />}
        <JobActions job={job} />
      </span>
    </header>
  );
}

/** The attempts of a job, and what they used, which is known once it has ended. */
function JobNumbers({ job }: { job: JobDetail }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const run = useRun(url.session, job);
  const { all, failed } = progressOf(job.tasks, job.stopped_by_libraries);
  return (
    <div className={css.numbers} data-testid="job-numbers">
      <Stat name={t('summary.attempts')} value={count(all)} />
      <Stat
        name={t('summary.failed')}
        value={count(failed)}
        bad={failed > 0}
        to={failed > 0 ? toView(url, 'failures', { job_id: job.job_id }) : undefined}
      />
      {run?.cpu_ns != null && (
        <Stat name={t('runs.cpu')} value={duration(run.cpu_ns)} note={t('runs.cpuHint')} />
      )}
      {run?.gpu_ns ? (
        <Stat name={t('runs.gpu')} value={duration(run.gpu_ns)} note={t('runs.gpuHint')} />
      ) : null}
      {run?.peak_memory != null && (
        <Stat name={t('runs.memory')} value={bytes(run.peak_memory)} note={t('runs.memoryHint')} />
      )}
      <SlowerMark run={run} />
    </div>
  );
}

/** Links to the pages about a job, and to its comparison with previous runs. */
function JobLinks({ job }: { job: JobDetail }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const views = ['insights', 'tasks', 'failures', 'gantt', 'actors', 'placement-groups', 'events'] as const;
  return (
    <nav className={`${layout.tabs} ${css.ways}`} aria-label={t('jobs.look')}>
      {views.map((view) => (
        <Link
          key={view}
          to={toView(url, view, { job_id: job.job_id })}
          className={layout.tab}
          testId={`job-to-${view}`}
        >
          {t(`nav.${isFlow(view) ? 'execution' : view}`)}
        </Link>
      ))}
      {Object.keys(job.tasks).length > 0 && (
        <Link
          to={{ page: 'compare', a: '', b: `${url.session}/${job.job_id}`, lang: url.lang }}
          className={layout.tab}
          testId="job-compare"
        >
          {t('jobs.compare')}
        </Link>
      )}
    </nav>
  );
}

function JobFunctions({ id }: { id: string }) {
  const { t } = useTranslation();
  const { data, error } = useEntityProgress('job_id', id);
  return (
    <Panel
      title={t('jobs.functions')}
      note={data && <ProgressCount progress={data} />}
      testId="job-progress"
      wide
    >
      <PanelBody data={data} error={error}>
        {(progress) => <ProgressTable progress={progress} id={id} filter="job_id" />}
      </PanelBody>
    </Panel>
  );
}

/** Fields that the page shows above, and fields that do not apply to a job. */
const HIDDEN: ReadonlySet<string> = new Set([
  'tasks',
  'history',
  'state',
  'message',
  'is_internal',
  'alias_of',
]);

/** The entrypoint, runtime environment and node of a job. */
function Environment({ job }: { job: JobDetail }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const version = useSession(url.session)?.ray_version;
  return (
    <Panel title={t('jobs.environment')} testId="job-environment" wide>
      <EntityFields view="jobs" item={{ ...job, ray_version: version }} hide={HIDDEN} />
    </Panel>
  );
}
