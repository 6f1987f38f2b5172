import type { Paths } from './schema';

type Value = string | number | null | undefined | readonly string[];

export type Params = Record<string, Value>;

/** The parameters of a path: the server refuses others. Those in the path itself are among them. */
export type ParamsOf<P extends keyof Paths> = Partial<Record<Paths[P]['params'], Value>>;

/** A request's path and query. A parameter named in the path, such as `{task_id}`, fills its place there. */
export function apiPath(path: string, params: Params = {}): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(params[name] ?? '')),
  );
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (path.includes(`{${name}}`)) continue;
    for (const each of [value].flat())
      if (each !== null && each !== undefined && each !== '') query.append(name, String(each));
  }
  const search = query.toString();
  return search ? `/api/v1${filled}?${search}` : `/api/v1${filled}`;
}

/** All sessions fit into one answer. */
export const SESSIONS_LIMIT = 1000;
