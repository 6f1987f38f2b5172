import type { ReactNode } from 'react';
import css from './LogNote.module.css';

/** What a reader of a log should know of it, above its lines. */
export function LogNote({ testId, children }: { testId?: string; children: ReactNode }) {
  return (
    <div className={css.note} data-testid={testId}>
      {children}
    </div>
  );
}
