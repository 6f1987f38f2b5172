import { Button, Group } from '@mantine/core';
import { IconPlayerStop, IconTrash } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { Item } from '../../api/types';
import { FLOW_VIEWS, toView } from '../../base/url';
import { Section } from '../../ui/Drawer';
import { Link } from '../../ui/Link';
import { LogPanel } from '../../ui/logs/LogPanel';
import { useOperatorAction } from '../../ui/operator';
import { useSessionUrl } from '../../ui/useUrl';
import shared from './entities.module.css';
import css from './JobDetail.module.css';
import { ProgressSection } from './ProgressSection';

/** What is done with a job, where to look on, how far it is, and what it wrote. */
export function JobDetail({ job }: { job: Item }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const jobId = String(job.job_id);
  const hasDriver = /^[0-9a-f]{8}$/.test(jobId);
  const filters = { job_id: jobId };
  return (
    <>
      <JobActs job={job} />
      {hasDriver && (
        <Section title={t('jobs.look')}>
          <div className={css.links}>
            {FLOW_VIEWS.map((view) => (
              <Link key={view} to={toView(url, view, filters)} testId={`job-to-${view}`}>
                {t(`nav.${view}`)}
              </Link>
            ))}
          </div>
          <div className={css.links}>
            <Link to={toView(url, 'failures', filters)}>{t('jobs.failures')}</Link>
            <Link to={toView(url, 'actors', filters)}>{t('jobs.actors')}</Link>
            <Link to={toView(url, 'placement-groups', filters)}>{t('jobs.groups')}</Link>
            <Link to={toView(url, 'events', filters)}>{t('jobs.events')}</Link>
          </div>
        </Section>
      )}
      {hasDriver && <ProgressSection of="jobs" id={jobId} filter="job_id" />}
      <Section title={t('jobs.logs')}>
        <LogPanel of={{ job_id: jobId }} />
      </Section>
    </>
  );
}

function JobActs({ job }: { job: Item }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const act = useOperatorAction();
  const client = useQueryClient();
  if (!job.submission_id) return null;
  const runs = job.state === 'RUNNING' || job.state === 'PENDING';
  const path = `/jobs/${encodeURIComponent(String(job.job_id))}`;
  const session = `?session=${encodeURIComponent(url.session)}`;
  const name = <p className={shared.jobCommand}>{String(job.entrypoint ?? job.submission_id)}</p>;
  const done = () => void client.invalidateQueries();
  return (
    <Group gap="xs" className={css.actions}>
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
