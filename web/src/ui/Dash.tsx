/** Shown for unknown values. */
import words from './theme/words.module.css';
export function Dash() {
  return <span className={words.dim}>–</span>;
}
