import css from './Dot.module.css';

/** A coloured dot for a state, shown next to its name. */
export function Dot({ color, pulse = false }: { color: string; pulse?: boolean }) {
  return <span className={css.dot} data-pulse={pulse || undefined} style={{ background: color }} />;
}
