import { useQueries } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { isMissing } from '../api/client';
import { isRunning } from '../api/jobs';
import { answerTo } from '../api/queries';
import { NO_FILTERS } from '../base/url';
import { useStateName } from '../ui/useStateName';
import { go, useUrl } from '../ui/useUrl';
import { useWatchedJobs } from '../ui/watchedJobs';

const INTERVAL = 5_000;

/** Announces the ends of watched jobs as notifications of the browser, as long as Rayscope is open in it. */
export function JobEnds() {
  const { t } = useTranslation();
  const stateName = useStateName();
  const { lang } = useUrl();
  const [watched, watch] = useWatchedJobs();
  const answers = useQueries({
    queries: watched.map(({ session, job_id }) => ({
      ...answerTo('/jobs/{job_id}', { job_id, session }),
      refetchInterval: INTERVAL,
      refetchIntervalInBackground: true,
    })),
  });
  useEffect(() => {
    answers.forEach(({ data, error }, at) => {
      const job = watched[at];
      if (job === undefined) return;
      if (isMissing(error)) watch(job, false);
      if (data === undefined || isRunning(data)) return;
      watch(job, false);
      const title = t('app.jobEnded', { name: job.name, state: stateName(data.state) });
      try {
        const shown = new Notification(title, {
          body: data.message ?? undefined,
          tag: `${job.session}/${job.job_id}`,
        });
        shown.onclick = () => {
          window.focus();
          go({
            page: 'session',
            session: job.session,
            view: 'jobs',
            filters: NO_FILTERS,
            item: job.job_id,
            lang,
          });
        };
      } catch {
        // Browsers on phones show only the notifications of service workers.
      }
    });
  }, [answers, watched, watch, t, stateName, lang]);
  return null;
}
