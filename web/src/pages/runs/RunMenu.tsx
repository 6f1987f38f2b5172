import { Menu, Stack, Text, TextInput } from '@mantine/core';
import { IconEyeOff, IconFlag, IconTag } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { RunItem, RunMarks } from '../../api/schema';
import { useOperatorAction } from '../../ui/operator';

/** The operator's actions on a run, as items of its menu. */
export function RunActions({ run }: { run: RunItem }) {
  const { t } = useTranslation();
  const act = useOperatorAction();
  const client = useQueryClient();

  function change(title: string, text: React.ReactNode, marks: RunMarks): void {
    void act({
      method: 'PUT',
      path: `/runs/${encodeURIComponent(run.session)}/${encodeURIComponent(run.job_id)}`,
      title,
      text,
      body: () => Promise.resolve(marks),
      confirm: t('runs.save'),
    }).then(() => client.invalidateQueries());
  }

  function editTags(): void {
    const marks: RunMarks = {};
    change(t('runs.editTags'), <TagField run={run} marks={marks} />, marks);
  }

  const baseline = run.baseline ? 'unsetBaseline' : 'setBaseline';
  const leftOut = run.left_out ? 'countAgain' : 'leaveOut';
  return (
    <>
      <Menu.Item leftSection={<IconTag size={14} />} onClick={editTags} data-testid="run-tags">
        {t('runs.editTags')}
      </Menu.Item>
      <Menu.Item
        leftSection={<IconFlag size={14} />}
        onClick={() =>
          change(t(`runs.${baseline}`), t(`runs.${baseline}Text`, { script: run.script }), {
            baseline: !run.baseline,
          })
        }
        data-testid="run-baseline"
      >
        {t(`runs.${baseline}`)}
      </Menu.Item>
      <Menu.Item
        leftSection={<IconEyeOff size={14} />}
        onClick={() => change(t(`runs.${leftOut}`), t(`runs.${leftOut}Text`), { left_out: !run.left_out })}
        data-testid="run-leave-out"
      >
        {t(`runs.${leftOut}`)}
      </Menu.Item>
      <Menu.Divider />
    </>
  );
}

/** The field of a run's tags, which are stored in `marks` once they change. */
function TagField({ run, marks }: { run: RunItem; marks: RunMarks }) {
  const { t } = useTranslation();
  return (
    <Stack gap="xs">
      <Text size="sm">{run.name}</Text>
      <TextInput
        label={t('runs.tags')}
        description={t('runs.tagsHint')}
        defaultValue={run.tags.join(', ')}
        onChange={(event) => {
          marks.tags = event.currentTarget.value.split(',').filter((tag) => tag.trim() !== '');
        }}
        data-autofocus
        data-testid="run-tag-field"
      />
    </Stack>
  );
}
