import type { ReactNode } from 'react';
import css from './MiniList.module.css';

/** A short list in a drawer or a panel. It scrolls if it has more than a few rows. */
export function MiniList({ children }: { children: ReactNode }) {
  return <div className={css.list}>{children}</div>;
}
