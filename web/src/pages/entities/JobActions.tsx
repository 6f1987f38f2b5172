import { Button } from '@mantine/core';
import { IconPlayerStop, IconTrash } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { isRunning } from '../../api/jobs';
import type { JobDetail } from '../../api/schema';
import { useOperatorAction } from '../../ui/operator';
import { useSessionUrl } from '../../ui/useUrl';
import shared from './entities.module.css';

/** The time after which a job that still runs can be stopped again. */
const STOPS_MS = 30_000;

/** The operator's actions on a submitted job. */
export function JobActions({ job }: { job: JobDetail }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const act = useOperatorAction();
  const client = useQueryClient();
  const [isStopping, setStopping] = useState(false);
  if (!job.submission_id) return null;
  const runs = isRunning(job);
  const action = runs ? 'stop' : 'delete';
  const Icon = runs ? IconPlayerStop : IconTrash;
  const path = `/jobs/${encodeURIComponent(job.job_id)}${runs ? '/stop' : ''}`;
  return (
    <Button
      size="compact-sm"
      variant="default"
      leftSection={<Icon size={14} />}
      disabled={runs && isStopping}
      data-testid={`job-${action}`}
      onClick={() =>
        void act({
          method: runs ? 'POST' : 'DELETE',
          path: `${path}?session=${encodeURIComponent(url.session)}`,
          title: t(`jobs.${action}Title`),
          text: (
            <>
              <p className={shared.jobCommand}>{job.entrypoint ?? job.submission_id}</p>
              {t(`jobs.${action}Text`)}
            </>
          ),
          confirm: t(`jobs.${action}`),
          danger: true,
        }).then((answer) => {
          if (runs && answer !== undefined) {
            setStopping(true);
            setTimeout(() => setStopping(false), STOPS_MS);
          }
          return client.invalidateQueries();
        })
      }
    >
      {t(runs && isStopping ? 'jobs.stopping' : `jobs.${action}`)}
    </Button>
  );
}
