import { Code } from '@mantine/core';
import css from './Command.module.css';
import { CopyButton } from './CopyButton';

/** A command line with a copy button. */
export function Command({ children }: { children: string }) {
  return (
    <div className={css.command}>
      <Code className={css.text}>{children}</Code>
      <CopyButton text={children} />
    </div>
  );
}
