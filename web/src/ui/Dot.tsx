import css from './Dot.module.css';

/** The colour of a state, beside its name. */
export function Dot({ color, pulse = false }: { color: string; pulse?: boolean }) {
  return <span className={css.dot} data-pulse={pulse || undefined} style={{ background: color }} />;
}
