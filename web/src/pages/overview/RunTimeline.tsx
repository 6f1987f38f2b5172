import type { Job } from '../../api/schema';
import { programName } from '../../base/format';
import { toItem } from '../../base/url';
import { ActivityTrack } from '../../ui/activity/ActivityTrack';
import { useActivity } from '../../ui/activity/useActivity';
import { Link } from '../../ui/Link';
import { useSessionUrl } from '../../ui/useUrl';
import css from './RunTimeline.module.css';
import { useJobs } from './useOverview';

/** Maximum number of jobs with a band. */
const BANDS = 5;

/**
 * The run since its first submission: running, pending and failed attempts over time, and below them the
 * jobs.
 */
export function RunTimeline() {
  const [url] = useSessionUrl();
  const activity = useActivity(url.session, {}).data;
  const jobs = useJobs(url.session, false).data?.items ?? [];
  if (activity === undefined || activity.begin_ns === null || activity.end_ns === null) return null;
  return (
    <section className={css.timeline} data-testid="run-timeline">
      <ActivityTrack activity={activity} />
      <Bands jobs={jobs.slice(0, BANDS)} begin={activity.begin_ns} end={activity.end_ns} />
    </section>
  );
}

/** A band for each job over the time when it ran. Hidden if there is only one job. */
function Bands({ jobs, begin, end }: { jobs: Job[]; begin: number; end: number }) {
  const [url] = useSessionUrl();
  if (jobs.length < 2) return null;
  const share = (ns: number) => Math.min(Math.max((ns - begin) / Math.max(1, end - begin), 0), 1) * 100;
  return (
    <div className={css.bands}>
      {jobs.map((job) => {
        const id = job.job_id;
        const left = share(job.start_ns ?? begin);
        const right = share(job.end_ns ?? end);
        const name = programName(job.entrypoint ?? '');
        return (
          <div key={id} className={css.band} data-testid="run-job">
            <span
              className={css.job}
              data-failed={job.state === 'FAILED' || undefined}
              style={{ left: `${left}%`, width: `${Math.max(right - left, 0.3)}%` }}
            >
              <Link to={toItem(url, 'jobs', id)} className={css.jobName} title={`${name} ${id}`}>
                {name || id}
              </Link>
            </span>
          </div>
        );
      })}
    </div>
  );
}
