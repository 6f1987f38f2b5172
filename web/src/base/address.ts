/** Where the page's address is kept: in the path, or in a report, which is a file, after the `#`. */

import { REPORT } from './report';

/** In a frame, such as a notebook's output, a report has no URL of its own. */
const isFramed = REPORT !== null && window.parent !== window;
let framed: string | undefined;

/** The current path and query. */
export function address(): string {
  if (REPORT === null) return window.location.pathname + window.location.search;
  return framed ?? (window.location.hash.slice(1) || REPORT.start);
}

/** The URL of a path and query, as a link needs it. */
export const linkTo = (target: string) => (REPORT === null ? target : `#${target}`);

/** Changes the address. `replace`: without a new entry in the history. */
export function moveTo(target: string, replace?: boolean): void {
  if (isFramed) framed = target;
  else if (replace) window.history.replaceState(null, '', linkTo(target));
  else window.history.pushState(null, '', linkTo(target));
}
