import { Menu, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { IconPencil, IconTrash } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { SessionItem, SessionLabel } from '../../api/schema';
import { useOperatorAction } from '../../ui/operator';
import { RayDashboardItem } from '../../ui/RayDashboardItem';
import { useSessionTexts } from '../../ui/session';
import { isElsewhere, pathOf } from './sessions';

/** Ray's dashboard and the operator's actions on a session, as items of its menu. */
export function SessionActions({ session }: { session: SessionItem }) {
  const { t } = useTranslation();
  const { name, place } = useSessionTexts();
  const act = useOperatorAction();
  const client = useQueryClient();
  const path = pathOf(session);
  const done = () => void client.invalidateQueries();

  function edit() {
    const label: SessionLabel = {};
    void act({
      method: 'PATCH',
      path,
      title: t('sessions.edit'),
      text: <LabelFields session={session} label={label} />,
      body: () => Promise.resolve(label),
      confirm: t('sessions.save'),
    }).then(done);
  }

  function remove() {
    void act({
      method: 'DELETE',
      path,
      title: t('sessions.deleteTitle', { name: name(session) }),
      text: (
        <>
          <Text fw={600}>{name(session)}</Text>
          <Text size="sm" c="dimmed">
            {place(session)}
          </Text>
          <Text size="xs" c="dimmed" mb="sm">
            {session.session}
          </Text>
          {t('sessions.deleteText')} {isElsewhere(session) && t('sessions.deleteArchived')}
        </>
      ),
      confirm: t('sessions.delete'),
      danger: true,
    }).then(done);
  }

  return (
    <>
      <RayDashboardItem session={session.session} />
      <Menu.Item leftSection={<IconPencil size={14} />} onClick={edit} data-testid="session-edit">
        {t('sessions.edit')}
      </Menu.Item>
      <Menu.Item
        leftSection={<IconTrash size={14} />}
        color="red"
        onClick={remove}
        data-testid="session-delete"
      >
        {t('sessions.delete')}
      </Menu.Item>
      <Menu.Divider />
    </>
  );
}

/** The fields of a session's label. Only the changed ones are stored in `label`. */
function LabelFields({ session, label }: { session: SessionItem; label: SessionLabel }) {
  const { t } = useTranslation();
  const { script } = session;
  const given = session.name !== script && session.name !== `${script} +${session.jobs - 1}`;
  return (
    <Stack gap="sm">
      <TextInput
        label={t('sessions.name')}
        description={t('sessions.nameHint')}
        defaultValue={given ? (session.name ?? '') : ''}
        placeholder={given ? undefined : (session.name ?? undefined)}
        maxLength={120}
        onChange={(event) => {
          label.name = event.currentTarget.value;
        }}
        data-autofocus
        data-testid="session-name"
      />
      <Textarea
        label={t('sessions.note')}
        defaultValue={session.note}
        maxLength={4000}
        rows={4}
        onChange={(event) => {
          label.note = event.currentTarget.value;
        }}
        data-testid="session-note"
      />
      <TextInput
        label={t('sessions.tags')}
        description={t('sessions.tagsHint')}
        defaultValue={session.tags.join(', ')}
        onChange={(event) => {
          label.tags = event.currentTarget.value.split(',').filter((tag) => tag.trim() !== '');
        }}
        data-testid="session-tags"
      />
    </Stack>
  );
}
