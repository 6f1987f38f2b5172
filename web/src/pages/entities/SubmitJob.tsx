import {
  Button,
  Group,
  JsonInput,
  Modal,
  NumberInput,
  Stack,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core';
import { IconPlayerPlay } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSessions } from '../../api/queries';
import { typedObject } from '../../base/progress';
import { useOperatorAction } from '../../ui/operator';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import shared from './entities.module.css';

/** The button and form that submit a job by Ray's own job API; only of a cluster that lives. */
export function SubmitJob() {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const sessions = useSessions();
  const [opened, setOpened] = useState(false);
  const [sent, setSent] = useState<string | null>(null);
  const session = sessions.data?.items.find((item) => item.session === url.session);
  if (session?.state !== 'live') return null;
  return (
    <>
      <Button
        size="compact-sm"
        variant="default"
        leftSection={<IconPlayerPlay size={14} />}
        onClick={() => setOpened(true)}
        data-testid="job-submit"
      >
        {t('jobs.submit')}
      </Button>
      {sent !== null && (
        <Text size="xs" c="dimmed" role="status" data-testid="job-sent">
          {t('jobs.sent', { id: sent })}
        </Text>
      )}
      {opened && (
        <Form
          session={url.session}
          onClose={(id) => {
            setOpened(false);
            if (id !== undefined) setSent(id);
          }}
        />
      )}
    </>
  );
}

function Form({ session, onClose }: { session: string; onClose: (submissionId?: string) => void }) {
  const { t } = useTranslation();
  const act = useOperatorAction();
  const client = useQueryClient();
  const [entrypoint, setEntrypoint] = useState('');
  const [submissionId, setSubmissionId] = useState('');
  const [environment, setEnvironment] = useState('');
  const [metadata, setMetadata] = useState('');
  const [cpus, setCpus] = useState<string | number>('');
  const [gpus, setGpus] = useState<string | number>('');
  const runtimeEnv = typedObject(environment);
  const labels = typedObject(metadata);
  const bad = runtimeEnv === null || labels === null || entrypoint.trim() === '';

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault();
    const answer = await act<{ submission_id: string }>({
      method: 'POST',
      path: `/jobs?session=${encodeURIComponent(session)}`,
      body: {
        entrypoint: entrypoint.trim(),
        ...(submissionId.trim() !== '' && { submission_id: submissionId.trim() }),
        ...(runtimeEnv !== undefined && { runtime_env: runtimeEnv }),
        ...(labels !== undefined && { metadata: labels }),
        ...(typeof cpus === 'number' && { entrypoint_num_cpus: cpus }),
        ...(typeof gpus === 'number' && { entrypoint_num_gpus: gpus }),
      },
      title: t('jobs.submit'),
      text: (
        <>
          {t('jobs.submitText')}
          <p className={shared.jobCommand}>{entrypoint.trim()}</p>
        </>
      ),
      confirm: t('jobs.submit'),
    });
    if (answer === undefined) return;
    void client.invalidateQueries();
    onClose(answer.submission_id);
  }

  return (
    <Modal opened onClose={() => onClose()} title={t('jobs.submit')} size="lg">
      <form onSubmit={submit} data-testid="job-form">
        <Stack gap="sm">
          <Textarea
            label={t('jobs.entrypoint')}
            description={t('jobs.entrypointHint')}
            value={entrypoint}
            onChange={(event) => setEntrypoint(event.currentTarget.value)}
            autosize
            minRows={2}
            data-autofocus
            required
            classNames={{ input: words.mono }}
            data-testid="job-entrypoint"
          />
          <TextInput
            label={t('jobs.submissionId')}
            description={t('jobs.submissionIdHint')}
            value={submissionId}
            onChange={(event) => setSubmissionId(event.currentTarget.value)}
            data-testid="job-submission-id"
          />
          <JsonInput
            label={t('jobs.runtimeEnv')}
            description={t('jobs.runtimeEnvHint')}
            value={environment}
            onChange={setEnvironment}
            error={runtimeEnv === null ? t('jobs.badJson') : undefined}
            autosize
            minRows={2}
          />
          <JsonInput
            label={t('jobs.metadata')}
            description={t('jobs.metadataHint')}
            value={metadata}
            onChange={setMetadata}
            error={labels === null ? t('jobs.badJson') : undefined}
          />
          <Group grow>
            <NumberInput label={t('jobs.cpus')} value={cpus} onChange={setCpus} min={0} />
            <NumberInput label={t('jobs.gpus')} value={gpus} onChange={setGpus} min={0} />
          </Group>
          <Group justify="flex-end">
            <Button variant="default" onClick={() => onClose()}>
              {t('operator.cancel')}
            </Button>
            <Button type="submit" disabled={bad} data-testid="job-next">
              {t('jobs.next')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
