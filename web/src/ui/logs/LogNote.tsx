import type { ReactNode } from 'react';
import css from './LogNote.module.css';

/** A note above the lines of a log. */
export function LogNote({ testId, children }: { testId?: string; children: ReactNode }) {
  return (
    <div className={css.note} data-testid={testId}>
      {children}
    </div>
  );
}
