/** The loaded lines of a file, assembled from pages. */

import type { LogLine, LogPage, LogStyle } from '../../api/schema';

/** A part of a line, with the program's colour and whether the search matched it. */
export interface LinePart {
  text: string;
  found: boolean;
  style?: LogStyle;
}

export interface Loaded {
  lines: LogLine[];
  /** The `before` parameter that requests the previous page; null at the start of the file. */
  prev: number | null;
  /** The `offset` parameter that requests the next page. */
  next: number;
  more: boolean;
  last: LogPage;
  missing: { begin: number; end: number }[];
}

/** Maximum number of loaded lines. Beyond that, lines at the other end are dropped. */
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

/** Appends the next page. A last line that was incomplete is repeated and replaced. */
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

/** Prepends the previous page. */
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

/** The parts of a log line, split where the search matches and where the colours change. */
export function partsOf(line: LogLine, search: RegExp | null): LinePart[] {
  const styles = line.styles.length > 0 ? inCodeUnits(line) : [];
  const parts: LinePart[] = [];
  let at = 0;
  for (const [text, found] of marked(line.text, search)) {
    const end = at + text.length;
    const edges = styles
      .flatMap((style) => [style.begin, style.end])
      .filter((edge) => edge > at && edge < end);
    for (const until of [...new Set(edges), end].sort((a, b) => a - b)) {
      const style = styles.find((one) => one.begin <= at && one.end >= until);
      parts.push({ text: line.text.slice(at, until), found, style });
      at = until;
    }
  }
  return parts;
}

/**
 * Converts offsets into JavaScript's: the server counts code points, but some of these take up two units of a
 * JavaScript string.
 */
function inCodeUnits({ text, styles }: LogLine): LogStyle[] {
  const points = [...text];
  if (points.length === text.length) return styles;
  const unit = (point: number) => points.slice(0, point).join('').length;
  return styles.map((style) => ({ ...style, begin: unit(style.begin), end: unit(style.end) }));
}

/** The matching parts of `text` and the parts between them, as [text, whether it matches]. */
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

/**
 * The pattern to highlight. Regular expressions run only on the server, so their matches are not highlighted.
 */
export function searchOf(text: string | undefined, regex: boolean): RegExp | null {
  if (!text || regex) return null;
  return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'gi');
}
