export type Params = Record<string, string | number | null | undefined>;

export function apiPath(path: string, params: Params = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== null && value !== undefined && value !== '') query.set(name, String(value));
  }
  const search = query.toString();
  return search ? `/api${path}?${search}` : `/api${path}`;
}

/** All sessions fit into one answer. */
export const SESSIONS_LIMIT = 1000;
