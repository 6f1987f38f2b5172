import { ActionIcon } from '@mantine/core';
import { IconBell, IconBellFilled } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { JobDetail } from '../../api/schema';
import { programName } from '../../base/format';
import { useSessionUrl } from '../../ui/useUrl';
import { isSame, useWatchedJobs } from '../../ui/watchedJobs';

/** Browsers have notifications only for pages from this machine or over HTTPS. */
const isPossible = window.isSecureContext && 'Notification' in window;

/** A button on a running job: the browser announces the job's end. */
export function JobBell({ job }: { job: JobDetail }) {
  const { t } = useTranslation();
  const [{ session }] = useSessionUrl();
  const [watched, watch] = useWatchedJobs();
  const [isDenied, setDenied] = useState(() => isPossible && Notification.permission === 'denied');
  const own = { session, job_id: job.job_id, name: programName(job.entrypoint ?? '') || job.job_id };
  const isWatched = watched.some((one) => isSame(one, own));
  const label = t(
    !isPossible
      ? 'jobs.cannotWatch'
      : isDenied
        ? 'jobs.watchDenied'
        : isWatched
          ? 'jobs.unwatch'
          : 'jobs.watch',
  );
  const change = async () => {
    const answer = isWatched ? 'granted' : await Notification.requestPermission();
    setDenied(answer === 'denied');
    if (answer === 'granted') watch(own, !isWatched);
  };
  return (
    <ActionIcon
      size={28}
      variant="default"
      aria-label={label}
      title={label}
      aria-pressed={isWatched}
      disabled={!isPossible || isDenied}
      onClick={() => void change()}
      data-testid="job-bell"
    >
      {isWatched ? <IconBellFilled size={15} /> : <IconBell size={15} />}
    </ActionIcon>
  );
}
