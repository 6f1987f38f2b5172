/** Where the page's address is kept: in the path, or in a report, which is a file, after the `#`. */

import { REPORT } from './report';

/** The current path and query. */
export function address(): string {
  if (REPORT === null) return window.location.pathname + window.location.search;
  return window.location.hash.slice(1) || REPORT.start;
}

/** The URL of a path and query, as a link needs it. */
export const linkTo = (target: string) => (REPORT === null ? target : `#${target}`);
