import { Anchor, Stack, Text } from '@mantine/core';
import { IconFilterX } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import css from './EmptyState.module.css';
import { useSessionUrl } from './useUrl';

/** Shown when a page or a panel has no content. */
export function EmptyState(props: { icon: ReactNode; title: string; children?: ReactNode }) {
  return (
    <Stack align="center" gap={6} className={css.empty} data-empty>
      <span className={css.icon}>{props.icon}</span>
      <Text fw={600} size="sm">
        {props.title}
      </Text>
      {props.children && (
        <Text size="sm" c="dimmed" ta="center" maw={460} component="div">
          {props.children}
        </Text>
      )}
    </Stack>
  );
}

/** The empty state when no entry matches the filters. */
export function NoMatches({ title }: { title?: string }) {
  const [, change] = useSessionUrl();
  const { t } = useTranslation();
  return (
    <EmptyState icon={<IconFilterX size={26} />} title={title ?? t('table.emptyFiltered')}>
      <Anchor component="button" size="sm" onClick={() => change((before) => ({ ...before, filters: {} }))}>
        {t('common.clearFilters')}
      </Anchor>
    </EmptyState>
  );
}
