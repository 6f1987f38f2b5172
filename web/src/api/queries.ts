import {
  keepPreviousData,
  type Query,
  QueryClient,
  queryOptions,
  type UseQueryOptions,
  useQuery,
} from '@tanstack/react-query';
import { programName } from '../base/format';
import { nodeTitle, uniqueNames } from '../base/nodeTitle';
import { type Filters, taskFilters } from '../base/url';
import { get, isMissing } from './client';
import { refreshEnded, refreshInterval, refreshLive } from './connection';
import { type ParamsOf, SESSIONS_LIMIT } from './path';
import type { JobPage, NodePage, Paths, SessionPage } from './schema';

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // The refresh interval already retries. Ignore the browser's offline state: the server may run on this
      // machine.
      retry: false,
      networkMode: 'always',
      refetchInterval: refreshLive,
      staleTime: 1_000,
    },
  },
});

/** The key and the request of a query. */
export const answerTo = <P extends keyof Paths>(path: P, params: ParamsOf<P>) =>
  queryOptions<Paths[P]['answer']>({
    queryKey: [path, params],
    queryFn: ({ signal }) => get(path, params as object, signal),
  });

/** Selects the queries of a path and of the paths below it. */
export const isOf =
  (path: string) =>
  ({ queryKey }: Pick<Query, 'queryKey'>) =>
    String(queryKey[0]).startsWith(path);

const sessionsWith = (q?: string) =>
  queryOptions({
    queryKey: q === undefined ? ['sessions'] : ['sessions', q],
    queryFn: ({ signal }) => get('/sessions', { limit: SESSIONS_LIMIT, q }, signal),
  });

/** All sessions, or the part that `select` picks. The component renders again only when that part changes. */
export function useSessions<T = SessionPage>(select?: (page: SessionPage) => T) {
  return useQuery({ ...sessionsWith(), select, refetchInterval: refreshEnded });
}

/** Sessions whose name contains `q`, newest first; all sessions if `q` is empty. */
export function useFoundSessions(q: string) {
  return useQuery({ ...sessionsWith(q || undefined), placeholderData: keepPreviousData });
}

export function useSummary(session: string | undefined) {
  return useQuery({
    ...answerTo('/summary', { session }),
    enabled: session !== undefined,
    refetchInterval: refreshEnded,
  });
}

export function useScheduling(session: string, { since_ns, until_ns }: Filters) {
  const params = { session, since_ns, until_ns, limit: 1000 };
  return useQuery({ ...answerTo('/scheduling', params), refetchInterval: refreshEnded });
}

/** The functions and the time of their attempts within a range. The summary covers only the whole session. */
export function useFunctions(session: string, { since_ns, until_ns }: Filters, only: 'mine' | undefined) {
  const params = { session, since_ns, until_ns, only };
  return useAnswer('/functions', params, {
    enabled: since_ns !== undefined || until_ns !== undefined || only !== undefined,
    placeholderData: keepPreviousData,
  });
}

/**
 * Failures that match the filters, grouped by signature. `stopped` selects the attempts that libraries
 * stopped on purpose.
 */
export function useFailures(session: string, filters: Filters, stopped = false) {
  const { outcome } = filters;
  const params = { ...taskFilters(filters), outcome, session, ...(stopped && { stopped: 'true' }) };
  return useAnswer('/failures', params, { placeholderData: keepPreviousData });
}

/** Whether a session has ended; undefined until the sessions are loaded. */
export function useHasEnded(session: string): boolean | undefined {
  return useSessions(({ items }) => items.some((item) => item.session === session && item.state === 'ended'))
    .data;
}

/** Refetch interval of a session's pages, longer for ended sessions and while the server is away. */
export function useSessionInterval(session: string): () => number {
  return useHasEnded(session) ? refreshEnded : refreshLive;
}

/** An answer about a session, refetched at the session's interval. */
export function useAnswer<P extends keyof Paths>(
  path: P,
  params: ParamsOf<P> & { session: string },
  options?: Pick<
    UseQueryOptions<Paths[P]['answer']>,
    'enabled' | 'placeholderData' | 'refetchInterval' | 'retry'
  >,
) {
  const refetchInterval = useSessionInterval(params.session);
  return useQuery({ ...answerTo(path, params), refetchInterval, ...options });
}

export function useTask(session: string, taskId: string | undefined) {
  return useQuery({
    ...answerTo('/tasks/{task_id}', { task_id: taskId, session }),
    enabled: taskId !== undefined,
    refetchInterval: (query) => (isMissing(query.state.error) ? refreshEnded() : refreshLive()),
  });
}

const nodesOf = (session: string) => ({
  ...answerTo('/nodes', { session, limit: 1000 }),
  placeholderData: keepPreviousData,
});

const jobsOf = (session: string) => ({
  ...answerTo('/jobs', { session, limit: 1000 }),
  placeholderData: keepPreviousData,
});

/** All nodes of a session (the first 1000), as options of a filter. */
export function useNodeChoices(session: string) {
  return useQuery({ ...nodesOf(session), refetchInterval: () => refreshInterval(10_000) });
}

/** All jobs of a session (the first 1000), as options of a filter. */
export function useJobChoices(session: string) {
  return useQuery({ ...jobsOf(session), refetchInterval: () => refreshInterval(10_000) });
}

/**
 * Job names by id. They are refetched when a new cell is rendered and not at an interval, since every cell
 * may use this hook. `awaited` is a job: the names are refetched until it is listed or the session has ended.
 */
export function useJobNames(session: string, awaited?: string | null) {
  const isLive = useHasEnded(session) === false;
  return useQuery({
    ...jobsOf(session),
    refetchInterval: ({ state }) =>
      isLive && awaited != null && !state.data?.items.some(({ job_id }) => job_id === awaited)
        ? refreshInterval(10_000)
        : false,
    staleTime: 10_000,
    select: namesOfJobs,
  });
}

/** Distinct names of nodes by id, refreshed like job names. */
export function useNodeNames(session: string) {
  return useQuery({ ...nodesOf(session), refetchInterval: false, staleTime: 10_000, select: namesOfNodes });
}

const namesOfNodes = ({ items }: NodePage) => {
  const names = uniqueNames(items.map((node) => ({ name: nodeTitle(node), node_id: node.node_id })));
  return new Map(items.map(({ node_id }, at) => [node_id, names[at] ?? ''] as const));
};

const namesOfJobs = ({ items }: JobPage) =>
  new Map(
    items.flatMap(({ job_id, entrypoint, submission_id }) => {
      const name = entrypoint ? programName(entrypoint) : submission_id;
      return name ? [[job_id, name] as const] : [];
    }),
  );
