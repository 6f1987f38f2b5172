import { ActionIcon, Button, Group, Text, TextInput } from '@mantine/core';
import { IconTrash } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Filters, SessionUrl } from '../../base/url';
import { useStored } from '../useStored';
import { useListUrl } from '../useUrl';

/** The filters, the order and the columns of a table, without the filters that fit one session alone. */
interface View {
  name: string;
  filters: Filters;
  sort?: string;
  columns: Record<string, boolean>;
}

const MAX_VIEWS = 20;
/** Ranges of time and IDs. */
const OF_SESSION = /_(ns|id)$/;
const NONE: View[] = [];

/** Views of a table under names, kept in this browser. */
export function SavedViews(props: {
  name: string;
  columns: Record<string, boolean>;
  onColumns: (columns: Record<string, boolean>) => void;
}) {
  const { t } = useTranslation();
  const [url, change] = useListUrl();
  const [views, setViews] = useStored(`views.${props.name}`, NONE);
  const [typed, setTyped] = useState('');
  const isFull = views.length >= MAX_VIEWS;
  function keep() {
    if (typed.trim() === '') return;
    const kept = Object.entries(url.filters).filter(([name]) => !OF_SESSION.test(name));
    const filters: Filters = Object.fromEntries(kept);
    const view = { name: typed.trim(), filters, sort: url.sort, columns: props.columns };
    setViews([...views.filter((one) => one.name !== view.name), view]);
    setTyped('');
  }
  function show(view: View) {
    props.onColumns(view.columns);
    change((before: SessionUrl) => {
      const { since_ns, until_ns } = before.filters;
      return { ...before, filters: { since_ns, until_ns, ...view.filters }, sort: view.sort };
    });
  }
  return (
    <>
      <Text size="xs" c="dimmed">
        {t('table.views')}
      </Text>
      {views.map((view) => (
        <Group key={view.name} gap={4} wrap="nowrap">
          <Button
            size="compact-xs"
            variant="subtle"
            justify="start"
            flex={1}
            onClick={() => show(view)}
            data-testid="saved-view"
          >
            {view.name}
          </Button>
          <ActionIcon
            size={20}
            aria-label={t('table.removeView', { name: view.name })}
            onClick={() => setViews(views.filter((one) => one !== view))}
          >
            <IconTrash size={13} />
          </ActionIcon>
        </Group>
      ))}
      <TextInput
        size="xs"
        placeholder={isFull ? t('table.viewsFull', { n: MAX_VIEWS }) : t('table.saveView')}
        aria-label={t('table.saveView')}
        disabled={isFull}
        maxLength={60}
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
        onKeyDown={(event) => event.key === 'Enter' && keep()}
        data-testid="save-view"
      />
    </>
  );
}
