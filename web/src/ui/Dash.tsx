/** Stands for a value that is not known. */
import words from './theme/words.module.css';
export function Dash() {
  return <span className={words.dim}>–</span>;
}
