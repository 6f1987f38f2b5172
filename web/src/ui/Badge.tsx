import type { ReactNode } from 'react';
import css from './Badge.module.css';

/** A word about a thing, beside its name. */
export function Badge({ bad = false, children }: { bad?: boolean; children: ReactNode }) {
  return (
    <span className={css.badge} data-bad={bad || undefined}>
      {children}
    </span>
  );
}
