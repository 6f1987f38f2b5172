/** The lines of a file that are loaded, put together of pages. */

import type { LogLine, LogPage } from '../../api/logs';

export interface Loaded {
  lines: LogLine[];
  /** `before` of the page before; null at the file's beginning. */
  prev: number | null;
  /** `offset` of the page after. */
  next: number;
  more: boolean;
  last: LogPage;
  missing: { begin: number; end: number }[];
}

/** Lines that are held; beyond that those at the other end are let go. */
export const MAX_LINES = 200_000;

export function started(page: LogPage): Loaded {
  return {
    lines: page.lines,
    prev: page.prev,
    next: page.next,
    more: page.more,
    last: page,
    missing: page.missing,
  };
}

/** With the page behind: a last line that was still being written comes again, and is replaced. */
export function withAfter(loaded: Loaded, page: LogPage): Loaded {
  if (page.lines.length === 0 && page.next === loaded.next)
    return page.size === loaded.last.size && page.live === loaded.last.live
      ? loaded
      : { ...loaded, last: page, more: page.more };
  const kept = loaded.lines.at(-1);
  const stays = kept !== undefined && kept.offset >= page.begin ? loaded.lines.slice(0, -1) : loaded.lines;
  const lines = [...stays, ...page.lines];
  const over = Math.max(0, lines.length - MAX_LINES);
  return {
    lines: over > 0 ? lines.slice(over) : lines,
    prev: over > 0 ? (lines[over]?.offset ?? loaded.prev) : loaded.prev,
    next: page.next,
    more: page.more,
    last: page,
    missing: [...loaded.missing, ...page.missing],
  };
}

/** With the page before. */
export function withBefore(loaded: Loaded, page: LogPage): Loaded {
  return {
    ...loaded,
    lines: [...page.lines, ...loaded.lines].slice(0, MAX_LINES),
    prev: page.prev,
    missing: [...page.missing, ...loaded.missing],
    ...(page.lines.length + loaded.lines.length > MAX_LINES && {
      next: ([...page.lines, ...loaded.lines][MAX_LINES]?.offset ?? loaded.next) as number,
      more: true,
    }),
  };
}

/** The parts of a text that match and those between, as [text, whether it matches]. */
export function marked(text: string, search: RegExp | null): [string, boolean][] {
  if (search === null) return [[text, false]];
  const parts: [string, boolean][] = [];
  let at = 0;
  for (const found of text.matchAll(search)) {
    if (found[0] === '') continue;
    if (found.index > at) parts.push([text.slice(at, found.index), false]);
    parts.push([found[0], true]);
    at = found.index + found[0].length;
    if (parts.length > 100) break;
  }
  if (at < text.length) parts.push([text.slice(at), false]);
  return parts;
}

/** What is marked: the text itself. Expressions are the server's to run; here they are not marked. */
export function searchOf(text: string | undefined, regex: boolean): RegExp | null {
  if (!text || regex) return null;
  return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'gi');
}
