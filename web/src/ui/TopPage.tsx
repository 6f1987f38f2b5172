import { Group, Text, Title } from '@mantine/core';
import type { HTMLAttributes, ReactNode } from 'react';
import css from './TopPage.module.css';
import layout from './theme/layout.module.css';

/** A page outside a session: its title, what it shows, and buttons. */
export function TopPage({
  title,
  intro,
  actions,
  children,
  ...rest
}: {
  title: string;
  intro: string;
  actions?: ReactNode;
  /** The content takes the height of the page, and scrolls in itself. */
  'data-whole'?: boolean;
  'data-testid'?: string;
} & HTMLAttributes<HTMLElement>) {
  return (
    <main {...rest} className={`${layout.main} ${css.page}`} id="main" tabIndex={-1}>
      <header className={css.head}>
        <div>
          <Title order={1}>{title}</Title>
          <Text size="sm" c="dimmed">
            {intro}
          </Text>
        </div>
        <Group gap={12}>{actions}</Group>
      </header>
      {children}
    </main>
  );
}
