import type { ReactNode } from 'react';
import css from './MiniList.module.css';

/** A few rows in a drawer or a panel, which scrolls if there are more. */
export function MiniList({ children }: { children: ReactNode }) {
  return <div className={css.list}>{children}</div>;
}
