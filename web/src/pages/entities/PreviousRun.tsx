import { useTranslation } from 'react-i18next';
import { useJobChoices, useSessions } from '../../api/queries';
import type { JobDetail, JobPage, SessionItem } from '../../api/schema';
import { programName } from '../../base/format';
import { Link } from '../../ui/Link';
import { useSessionUrl } from '../../ui/useUrl';

/** A link to the comparison with previous runs of the same script. Absent if there is none on record. */
export function PreviousRun({ job }: { job: JobDetail }) {
  const { t } = useTranslation();
  const [{ session, lang }] = useSessionUrl();
  const jobs = useJobChoices(session).data?.items;
  const sessions = useSessions().data?.items;
  const previous =
    jobs === undefined || sessions === undefined ? null : previousRun(session, job, jobs, sessions);
  if (previous === null) return null;
  return (
    <Link to={{ page: 'compare', ...previous, b: `${session}/${job.job_id}`, lang }} testId="job-compare">
      {t('jobs.compare')}
    </Link>
  );
}

/** The first Python file of a command, or else the command without the interpreter. */
function scriptOf(entrypoint: string | null): string {
  const program = programName(entrypoint ?? '');
  const script = program.split(' ').find((word) => word.endsWith('.py'));
  return script?.split('/').pop() ?? program;
}

/**
 * The latest earlier job of the same script in the session. Without one, no run is named, so that the server
 * takes the earlier sessions of that script. Null if there is neither.
 */
export function previousRun(
  session: string,
  job: Pick<JobDetail, 'job_id' | 'entrypoint' | 'start_ns'>,
  jobs: readonly Pick<JobPage['items'][number], 'job_id' | 'entrypoint' | 'start_ns'>[],
  sessions: readonly SessionItem[],
): { a: string } | null {
  const script = scriptOf(job.entrypoint);
  const began = job.start_ns;
  if (script === '' || began === null) return null;
  const isEarlier = (ns: number | null) => ns !== null && ns < began;
  const earlier = jobs
    .filter((other) => /^[0-9a-f]{8}$/.test(other.job_id) && other.job_id !== job.job_id)
    .filter(({ entrypoint, start_ns }) => isEarlier(start_ns) && scriptOf(entrypoint) === script);
  const latest = latestBy(earlier, ({ start_ns }) => start_ns);
  if (latest !== undefined) return { a: `${session}/${latest.job_id}` };
  const isRecorded = sessions.some(
    (other) =>
      other.session !== session &&
      other.script === script &&
      other.state === 'ended' &&
      isEarlier(other.first_ns),
  );
  return isRecorded ? { a: '' } : null;
}

function latestBy<T>(items: readonly T[], ns: (item: T) => number | null): T | undefined {
  return [...items].sort((one, other) => Number(ns(other)) - Number(ns(one)))[0];
}
