/** Stands for a value that is not known. */
export function Dash() {
  return <span className="rs-dim">–</span>;
}
