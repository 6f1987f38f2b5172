import { ActionIcon } from '@mantine/core';
import { IconBell, IconBellFilled } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { JobDetail } from '../../api/schema';
import { programName } from '../../base/format';
import { useSessionUrl } from '../../ui/useUrl';
import { useIsWatched, watch } from '../../ui/watchedJobs';

/** A button on a running job: the browser announces the job's end. */
export function JobBell({ job }: { job: JobDetail }) {
  const { t } = useTranslation();
  const [{ session }] = useSessionUrl();
  const watched = { session, job_id: job.job_id, name: programName(job.entrypoint ?? '') || job.job_id };
  const isWatched = useIsWatched(watched);
  // Browsers have notifications only for pages from this machine or over HTTPS.
  const isPossible = window.isSecureContext && 'Notification' in window;
  const label = t(isPossible ? (isWatched ? 'jobs.unwatch' : 'jobs.watch') : 'jobs.cannotWatch');
  const change = async () => {
    if (isWatched || (await Notification.requestPermission()) === 'granted') watch(watched, !isWatched);
  };
  return (
    <ActionIcon
      size={28}
      variant="default"
      aria-label={label}
      title={label}
      aria-pressed={isWatched}
      disabled={!isPossible}
      onClick={() => void change()}
      data-testid="job-bell"
    >
      {isWatched ? <IconBellFilled size={15} /> : <IconBell size={15} />}
    </ActionIcon>
  );
}
