/** Encodes the explorer's queries in the URL, as one string with an empty line between queries. */

export function parseQueries(text: string | undefined): string[] {
  return (text ?? '')
    .split(/\n\s*\n/)
    .map((expr) => expr.trim())
    .filter((expr) => expr !== '');
}

/**
 * The encoded queries; undefined if there are none. Empty lines inside a query are removed: they mean nothing
 * there and would split it.
 */
export function formatQueries(exprs: readonly string[]): string | undefined {
  const trimmed = exprs.map((expr) => expr.trim().replace(/\n\s*\n/g, '\n')).filter((expr) => expr !== '');
  return trimmed.length > 0 ? trimmed.join('\n\n') : undefined;
}

/** Maximum number of queries, the same as for a dashboard's chart. */
export const MAX_QUERIES = 20;
