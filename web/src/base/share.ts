/** A share as whole per cents without the sign: `42`, `<1`. */
export const percent = (share: number) => (share > 0 && share < 0.005 ? '<1' : `${Math.round(100 * share)}`);
