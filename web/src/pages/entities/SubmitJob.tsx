import {
  Button,
  Group,
  Input,
  JsonInput,
  NumberInput,
  SegmentedControl,
  Stack,
  Textarea,
  TextInput,
} from '@mantine/core';
import { IconPlayerPlay } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { send } from '../../api/client';
import { useSessions } from '../../api/queries';
import type { FolderAnswer, JobRequest, Submitted } from '../../api/schema';
import { bytes } from '../../base/format';
import { typedObject } from '../../base/progress';
import { useOperatorAction } from '../../ui/operator';
import words from '../../ui/theme/words.module.css';
import { useDraft } from '../../ui/useDraft';
import { useFormLink } from '../../ui/useFormLink';
import { useSessionUrl } from '../../ui/useUrl';
import { filesOf, LEFT_OUT, MAX_FOLDER_BYTES, sizeOf, zipOf } from './jobFolder';

/** The values entered in the form. */
interface Draft {
  entrypoint: string;
  submissionId: string;
  environment: string;
  metadata: string;
  cpus: string | number;
  gpus: string | number;
  /** The files of the uploaded folder, or the ZIP file. */
  files: File[];
  /** The URI of the working directory, used instead of an upload. */
  uri: string;
}

/**
 * The button and the dialog that submit a job through Ray's job API. They are shown only for a live cluster.
 */
export function SubmitJob() {
  const [url, change] = useSessionUrl();
  const { t } = useTranslation();
  const act = useOperatorAction();
  const client = useQueryClient();
  const isLive = useSessions(
    (page) => page.items.find((item) => item.session === url.session)?.state === 'live',
  );
  useFormLink(isLive.data, () => void submit());
  if (!isLive.data) return null;

  async function submit(): Promise<void> {
    const draft: Draft = {
      entrypoint: '',
      submissionId: '',
      environment: '',
      metadata: '',
      cpus: '',
      gpus: '',
      files: [],
      uri: '',
    };
    const answer = await act<Submitted>({
      method: 'POST',
      path: `/jobs?session=${encodeURIComponent(url.session)}`,
      body: async () => {
        const request = requestOf(draft, t('jobs.badJson'));
        if (draft.files.length === 0) return request;
        const size = sizeOf(draft.files);
        if (size > MAX_FOLDER_BYTES) throw new Error(t('jobs.folderTooLarge', { size: bytes(size) }));
        const path = `/jobs/folder?session=${encodeURIComponent(url.session)}`;
        const sent = await send<FolderAnswer>('POST', path, await zipOf(draft.files));
        return { ...request, runtime_env: { ...request.runtime_env, working_dir: sent?.uri } };
      },
      title: t('jobs.submit'),
      text: <Form draft={draft} />,
      confirm: t('jobs.submit'),
      size: 'lg',
    });
    if (answer === undefined) return;
    await client.invalidateQueries();
    change((before) => ({ ...before, item: answer.submission_id }));
  }

  return (
    <Button
      size="compact-sm"
      variant="default"
      leftSection={<IconPlayerPlay size={14} />}
      onClick={() => void submit()}
      data-testid="job-submit"
    >
      {t('jobs.submit')}
    </Button>
  );
}

/**
 * Builds Ray's job request from the form. Throws an Error with the message `badJson` if a field that must be
 * a JSON object is not one.
 */
function requestOf(draft: Draft, badJson: string): JobRequest {
  const runtimeEnv = typedObject(draft.environment);
  const labels = typedObject(draft.metadata);
  const uri = draft.uri.trim();
  if (runtimeEnv === null || labels === null) throw new Error(badJson);
  return {
    entrypoint: draft.entrypoint.trim(),
    ...(draft.submissionId.trim() !== '' && { submission_id: draft.submissionId.trim() }),
    ...((runtimeEnv !== undefined || uri !== '') && {
      runtime_env: { ...runtimeEnv, ...(uri !== '' && { working_dir: uri }) },
    }),
    // The server checks that the values are strings.
    ...(labels !== undefined && { metadata: labels as JobRequest['metadata'] }),
    ...(typeof draft.cpus === 'number' && { entrypoint_num_cpus: draft.cpus }),
    ...(typeof draft.gpus === 'number' && { entrypoint_num_gpus: draft.gpus }),
  };
}

const SOURCES = ['folder', 'zip', 'uri'] as const;

/** The working directory of the job: a local folder or ZIP file, or a URI that Ray fetches. */
function WorkingDirField({ draft, set }: { draft: Draft; set: (changed: Partial<Draft>) => void }) {
  const { t } = useTranslation();
  const [source, setSource] = useState<(typeof SOURCES)[number]>('folder');
  const size = sizeOf(draft.files);
  const isTooLarge = size > MAX_FOLDER_BYTES;
  const limits = { max: bytes(MAX_FOLDER_BYTES), names: LEFT_OUT.join(', ') };
  return (
    <Input.Wrapper
      label={t('jobs.workingDir')}
      description={t(`jobs.workingDirHint.${source}`, limits)}
      error={isTooLarge ? t('jobs.folderTooLarge', { size: bytes(size) }) : undefined}
      labelProps={{ htmlFor: `job-${source}` }}
      inputWrapperOrder={['label', 'input', 'description', 'error']}
    >
      <Group gap="sm">
        <SegmentedControl
          size="xs"
          value={source}
          onChange={(chosen) => {
            setSource(chosen as typeof source);
            set({ files: [], uri: '' });
          }}
          data={SOURCES.map((value) => ({ value, label: t(`jobs.workingDirFrom.${value}`) }))}
          aria-label={t('jobs.workingDir')}
          data-testid="job-source"
        />
        {source === 'uri' ? (
          <TextInput
            id="job-uri"
            flex={1}
            value={draft.uri}
            onChange={(event) => set({ uri: event.currentTarget.value })}
            placeholder="s3://bucket/job.zip"
            data-testid="job-uri"
          />
        ) : (
          <input
            key={source}
            id={`job-${source}`}
            type="file"
            accept={source === 'zip' ? '.zip' : undefined}
            data-testid={`job-${source}`}
            ref={(input) => {
              input?.toggleAttribute('webkitdirectory', source === 'folder');
            }}
            onChange={(event) => set({ files: filesOf(event.currentTarget.files) })}
          />
        )}
      </Group>
      {source === 'folder' && draft.files.length > 0 && !isTooLarge && (
        <span className={words.dim}>
          {t('jobs.folderChosen', { n: draft.files.length, size: bytes(size) })}
        </span>
      )}
    </Input.Wrapper>
  );
}

/** Changes `draft` in place; its values are sent on confirmation. */
function Form({ draft }: { draft: Draft }) {
  const { t } = useTranslation();
  const [shown, set] = useDraft(draft);
  const jsonError = (text: string) => (typedObject(text) === null ? t('jobs.badJson') : undefined);
  return (
    <Stack gap="sm" data-testid="job-form">
      {t('jobs.submitText')}
      <Textarea
        label={t('jobs.entrypoint')}
        description={t('jobs.entrypointHint')}
        value={shown.entrypoint}
        onChange={(event) => set({ entrypoint: event.currentTarget.value })}
        autosize
        minRows={2}
        data-autofocus
        required
        classNames={{ input: words.mono }}
        data-testid="job-entrypoint"
      />
      <WorkingDirField draft={shown} set={set} />
      <TextInput
        label={t('jobs.submissionId')}
        description={t('jobs.submissionIdHint')}
        value={shown.submissionId}
        onChange={(event) => set({ submissionId: event.currentTarget.value })}
        data-testid="job-submission-id"
      />
      <JsonInput
        label={t('jobs.runtimeEnv')}
        description={t('jobs.runtimeEnvHint')}
        value={shown.environment}
        onChange={(environment) => set({ environment })}
        error={jsonError(shown.environment)}
        autosize
        minRows={2}
      />
      <JsonInput
        label={t('jobs.metadata')}
        description={t('jobs.metadataHint')}
        value={shown.metadata}
        onChange={(metadata) => set({ metadata })}
        error={jsonError(shown.metadata)}
      />
      <Group grow>
        <NumberInput label={t('jobs.cpus')} value={shown.cpus} onChange={(cpus) => set({ cpus })} min={0} />
        <NumberInput label={t('jobs.gpus')} value={shown.gpus} onChange={(gpus) => set({ gpus })} min={0} />
      </Group>
    </Stack>
  );
}
