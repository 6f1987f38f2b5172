import type { ReactNode } from 'react';
import css from './Badge.module.css';

/** A short label next to a name. */
export function Badge({ bad = false, children }: { bad?: boolean; children: ReactNode }) {
  return (
    <span className={css.badge} data-bad={bad || undefined}>
      {children}
    </span>
  );
}
