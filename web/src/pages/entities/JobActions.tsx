import { Button, Group } from '@mantine/core';
import { IconPlayerStop, IconTrash } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { JobDetail } from '../../api/schema';
import { useOperatorAction } from '../../ui/operator';
import { useSessionUrl } from '../../ui/useUrl';
import shared from './entities.module.css';

/** Operator actions on a submitted job. */
export function JobActions({ job }: { job: JobDetail }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const act = useOperatorAction();
  const client = useQueryClient();
  if (!job.submission_id) return null;
  const runs = job.state === 'RUNNING' || job.state === 'PENDING';
  const path = `/jobs/${encodeURIComponent(job.job_id)}`;
  const session = `?session=${encodeURIComponent(url.session)}`;
  const name = <p className={shared.jobCommand}>{job.entrypoint ?? job.submission_id}</p>;
  const done = () => void client.invalidateQueries();
  return (
    <Group gap="xs">
      {runs && (
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<IconPlayerStop size={14} />}
          data-testid="job-stop"
          onClick={() =>
            void act({
              method: 'POST',
              path: `${path}/stop${session}`,
              title: t('jobs.stopTitle'),
              text: (
                <>
                  {name}
                  {t('jobs.stopText')}
                </>
              ),
              confirm: t('jobs.stop'),
              danger: true,
            }).then(done)
          }
        >
          {t('jobs.stop')}
        </Button>
      )}
      {!runs && (
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<IconTrash size={14} />}
          data-testid="job-delete"
          onClick={() =>
            void act({
              method: 'DELETE',
              path: `${path}${session}`,
              title: t('jobs.deleteTitle'),
              text: (
                <>
                  {name}
                  {t('jobs.deleteText')}
                </>
              ),
              confirm: t('jobs.delete'),
              danger: true,
            }).then(done)
          }
        >
          {t('jobs.delete')}
        </Button>
      )}
    </Group>
  );
}
