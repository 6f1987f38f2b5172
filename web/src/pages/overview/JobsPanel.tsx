import { IconBriefcase, IconChartBar, IconFlame, IconStack2 } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { States } from '../../api/jobs';
import type { Job } from '../../api/schema';
import { count, headline, programName } from '../../base/format';
import { progressOf } from '../../base/progress';
import { stateColor } from '../../base/tokens';
import { type FlowView, toItem, toView, withSettings } from '../../base/url';
import { useCauseText, useDeath } from '../../ui/DeathCause';
import { Dot } from '../../ui/Dot';
import { ItemState } from '../../ui/ItemState';
import { Link } from '../../ui/Link';
import { Panel, PanelBody, PanelText } from '../../ui/panels/Panel';
import { orderedStates, StackedBar, StateNumber } from '../../ui/StackedBar';
import { Time } from '../../ui/Time';
import words from '../../ui/theme/words.module.css';
import { useStateName } from '../../ui/useStateName';
import { useSessionUrl } from '../../ui/useUrl';
import css from './JobsPanel.module.css';
import { useJobs, useProgress } from './useOverview';

/** Running jobs with their progress and links to their bottlenecks. */
export function JobsPanel({ live }: { live: boolean }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const jobs = useJobs(url.session, live);
  return (
    <Panel
      title={t(live ? 'overview.jobs' : 'overview.jobsEnded')}
      note={jobs.data && count(jobs.data.total)}
      to={toView(url, 'jobs')}
      testId="panel-jobs"
      wide
    >
      <PanelBody data={jobs.data} error={jobs.error}>
        {({ items }) =>
          items.length === 0 ? (
            <PanelText>{t('overview.noJobs')}</PanelText>
          ) : (
            <ul>
              {items.map((job) => (
                <JobRow key={job.job_id} job={job} />
              ))}
            </ul>
          )
        }
      </PanelBody>
    </Panel>
  );
}

function JobRow({ job }: { job: Job }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const id = job.job_id;
  const progress = useProgress(url.session, id);
  const { all, ended } = progressOf(progress?.states ?? {});
  const entrypoint = job.entrypoint ?? '';
  return (
    <li className={css.ovjob} data-testid="overview-job" data-job={id}>
      <div className={css.ovjobHead}>
        <IconBriefcase size={15} className={`${words.dim} ${css.icon}`} aria-hidden />
        <Link
          to={toItem(url, 'jobs', id)}
          className={`${words.link} ${words.ellipsis} ${css.ovjobName}`}
          title={entrypoint || id}
        >
          {programName(entrypoint) || id}
        </Link>
        <ItemState state={job.state} view="jobs" />
        <span className={`${words.dim} ${words.num}`}>
          <Time ns={job.start_ns} />
        </span>
        {all > 0 && (
          <span className={`${words.num} ${css.ovjobShare}`}>
            {t('overview.ended', { ended: count(ended), all: count(all) })}
          </span>
        )}
      </div>
      {job.state === 'FAILED' && <Reason job={job} />}
      {progress !== undefined && all === 0 ? (
        <span className={`${words.dim} ${css.ovjobStates}`}>{t('overview.noTasks')}</span>
      ) : (
        <JobProgress id={id} states={progress?.states ?? {}} stopped={progress?.stopped_by_libraries ?? 0} />
      )}
    </li>
  );
}

/** Why a job failed. */
function Reason({ job }: { job: Job }) {
  const death = useDeath('job', job.job_id);
  const causeText = useCauseText();
  const reason = causeText(death?.chain ?? []) || headline(job.message ?? '');
  return (
    reason !== '' && (
      <span className={`${words.dim} ${words.ellipsis}`} title={job.message ?? undefined}>
        {reason}
      </span>
    )
  );
}

/** The progress of a job by state, with links to its bottlenecks. */
function JobProgress({ id, states, stopped }: { id: string; states: States; stopped: number }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const name = useStateName();
  return (
    <>
      <StackedBar states={states} stopped={stopped} height={8} />
      <div className={css.ovjobFoot}>
        <span className={css.ovjobStates}>
          {orderedStates(states).map(([state, number]) => (
            <Link
              key={state}
              to={toView(url, 'tasks', { job_id: id, state })}
              className={css.ovjobState}
              title={t('overview.tasksIn', { state: name(state) })}
            >
              <Dot color={stateColor(state)} />
              {name(state)}{' '}
              <span className={words.num}>
                <StateNumber state={state} number={number} stopped={stopped} />
              </span>
            </Link>
          ))}
        </span>
        <WhySlow job={id} />
      </div>
    </>
  );
}

/** Links to three views of a job. They show why it is slow. */
function WhySlow({ job }: { job: string }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const way = (view: FlowView) => toView(url, view, { job_id: job });
  return (
    <span className={css.ovjobWhy}>
      <span className={words.dim}>{t('overview.whySlow')}</span>
      <Link
        to={withSettings(way('gantt'), { path: '1' })}
        className={words.link}
        title={t('overview.pathHint')}
        testId="why-path"
      >
        <IconChartBar size={14} aria-hidden /> {t('overview.path')}
      </Link>
      <Link to={way('stack')} className={words.link} title={t('overview.stackHint')} testId="why-stack">
        <IconStack2 size={14} aria-hidden /> {t('overview.stack')}
      </Link>
      <Link to={way('flame')} className={words.link} title={t('overview.flameHint')} testId="why-flame">
        <IconFlame size={14} aria-hidden /> {t('overview.flame')}
      </Link>
    </span>
  );
}
