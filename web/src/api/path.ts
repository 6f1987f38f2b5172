import { ROOT } from '../base/root';
import type { Paths } from './schema';

type Value = string | number | null | undefined | readonly string[];

export type Params = Record<string, Value>;

/** The parameters of a path, including those in the path itself. The server rejects any other parameter. */
export type ParamsOf<P extends keyof Paths> = Partial<Record<Paths[P]['params'], Value>>;

/**
 * The path and query of a request. A parameter such as `{task_id}` in the path is replaced there and left out
 * of the query.
 */
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
  return `${ROOT}/api/v1${filled}${search && `?${search}`}`;
}

/** Maximum number of sessions per request. It is large enough to get all sessions in one answer. */
export const SESSIONS_LIMIT = 1000;
