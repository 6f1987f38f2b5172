import { REPORT } from './report';

/**
 * The path below which a proxy serves Rayscope, such as `/rayscope`; usually empty. It is where this code was
 * loaded from, because the server writes the root path only into the page's references to `assets/`.
 */
export const ROOT =
  REPORT !== null ? '' : (/^(.*)\/assets\/[^/]+$/.exec(new URL(import.meta.url).pathname)?.[1] ?? '');
