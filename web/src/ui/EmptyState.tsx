import { Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import css from './EmptyState.module.css';

/** What a page or a panel shows when it has nothing. */
export function EmptyState(props: { icon: ReactNode; title: string; children?: ReactNode }) {
  return (
    <Stack align="center" gap={6} className={css.empty}>
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
