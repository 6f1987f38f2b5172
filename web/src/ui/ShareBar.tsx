import css from './ShareBar.module.css';

/** A share (0 to 1) as a bar. */
export function ShareBar({ share, color }: { share: number; color?: string | undefined }) {
  return (
    <span className={css.track}>
      <span className={css.bar} style={{ width: `${100 * share}%`, background: color }} />
    </span>
  );
}
