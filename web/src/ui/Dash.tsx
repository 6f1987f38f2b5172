/** A dash in place of an unknown value. */
import words from './theme/words.module.css';
export function Dash() {
  return <span className={words.dim}>–</span>;
}
