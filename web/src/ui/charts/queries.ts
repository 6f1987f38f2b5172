/** The explorer's queries as the URL has them: one text, with an empty line between two queries. */

export function parseQueries(text: string | undefined): string[] {
  return (text ?? '')
    .split(/\n\s*\n/)
    .map((expr) => expr.trim())
    .filter((expr) => expr !== '');
}

/** Undefined for none. An empty line inside a query would make two of it, and means nothing. */
export function formatQueries(exprs: readonly string[]): string | undefined {
  const said = exprs.map((expr) => expr.trim().replace(/\n\s*\n/g, '\n')).filter((expr) => expr !== '');
  return said.length > 0 ? said.join('\n\n') : undefined;
}

/** As many as a chart of a dashboard may have. */
export const MAX_QUERIES = 20;
