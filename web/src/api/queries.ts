import { keepPreviousData, QueryClient, queryOptions, useQuery } from '@tanstack/react-query';
import { programName } from '../base/format';
import { nodeTitle } from '../base/nodeTitle';
import type { Filters } from '../base/url';
import { get, isMissing } from './client';
import { REFRESH, REFRESH_ENDED, refreshInterval } from './connection';
import type { NodeRow } from './nodes';
import { SESSIONS_LIMIT } from './path';
import type { FunctionsAnswer, SchedulingAnswer } from './schema';
import type { Failures, Item, Page, Session, Summary, TaskDetail } from './types';

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // The refresh interval already retries. Ignore the browser's offline state: the server may run on this
      // machine.
      retry: false,
      networkMode: 'always',
      refetchInterval: () => refreshInterval(),
      staleTime: 1_000,
    },
  },
});

const sessionsWith = (q?: string) =>
  queryOptions({
    queryKey: q === undefined ? ['sessions'] : ['sessions', q],
    queryFn: ({ signal }) => get<Page<Session>>('/sessions', { limit: SESSIONS_LIMIT, q }, signal),
  });

/** All sessions, or the part that `select` picks. The component renders again only when that part changes. */
export function useSessions<T = Page<Session>>(select?: (page: Page<Session>) => T) {
  return useQuery({ ...sessionsWith(), select });
}

/** Sessions whose name contains a text, newest first; all sessions if the text is empty. */
export function useFoundSessions(q: string) {
  return useQuery({ ...sessionsWith(q || undefined), placeholderData: keepPreviousData });
}

export function useSummary(session: string | undefined) {
  return useQuery({
    queryKey: ['summary', session],
    queryFn: ({ signal }) => get<Summary>('/summary', { session }, signal),
    enabled: session !== undefined,
  });
}

export function useScheduling(session: string, { since_ns, until_ns }: Filters) {
  const params = { session, since_ns, until_ns, limit: 1000 };
  return useQuery({
    queryKey: ['scheduling', params],
    queryFn: ({ signal }) => get<SchedulingAnswer>('/scheduling', params, signal),
    refetchInterval: () => refreshInterval(REFRESH_ENDED),
  });
}

/** Functions by the time of their attempts within a range. The summary covers the whole session. */
export function useFunctions(session: string, { since_ns, until_ns }: Filters, only: 'mine' | undefined) {
  const interval = useSessionInterval(session);
  const params = { session, since_ns, until_ns, only };
  return useQuery({
    queryKey: ['functions', params],
    queryFn: ({ signal }) => get<FunctionsAnswer>('/functions', params, signal),
    enabled: since_ns !== undefined || until_ns !== undefined || only !== undefined,
    placeholderData: keepPreviousData,
    refetchInterval: () => refreshInterval(interval),
  });
}

/**
 * Failures by signature that match the filters. `stopped` selects attempts that libraries stopped on purpose.
 */
export function useFailures(session: string, filters: Filters, stopped = false) {
  const interval = useSessionInterval(session);
  return useQuery({
    queryKey: ['failures', session, filters, stopped],
    queryFn: ({ signal }) =>
      get<Failures>('/failures', { ...filters, session, ...(stopped && { stopped: 'true' }) }, signal),
    placeholderData: keepPreviousData,
    refetchInterval: () => refreshInterval(interval),
  });
}

/** Whether a session has ended; undefined until the sessions are loaded. */
export function useHasEnded(session: string): boolean | undefined {
  return useSessions().data?.items.some((item) => item.session === session && item.state === 'ended');
}

/** Refresh interval of a session's pages, longer for ended sessions. */
export function useSessionInterval(session: string): number {
  return useHasEnded(session) ? REFRESH_ENDED : REFRESH;
}

export function useTask(session: string, taskId: string | undefined) {
  return useQuery({
    queryKey: ['task', session, taskId],
    queryFn: ({ signal }) =>
      get<TaskDetail>(`/tasks/${encodeURIComponent(taskId ?? '')}`, { session }, signal),
    enabled: taskId !== undefined,
    refetchInterval: (query) =>
      isMissing(query.state.error) ? refreshInterval(REFRESH_ENDED) : refreshInterval(),
  });
}

const choicesOf = (session: string, path: '/nodes' | '/jobs') =>
  queryOptions({
    queryKey: ['choices', path, session],
    queryFn: ({ signal }) => get<Page<Item>>(path, { session, limit: 1000 }, signal),
    placeholderData: keepPreviousData,
  });

/** Options of a filter: all nodes or all jobs (the first 1000). */
export function useChoices(session: string, path: '/nodes' | '/jobs') {
  return useQuery({ ...choicesOf(session, path), refetchInterval: () => refreshInterval(10_000) });
}

/** Job names by id. Refreshed when new cells appear rather than by interval, since every cell may use it. */
export function useJobNames(session: string) {
  return useQuery({
    ...choicesOf(session, '/jobs'),
    refetchInterval: false,
    staleTime: 10_000,
    select: namesOfJobs,
  });
}

/** Node names by id, refreshed like job names. */
export function useNodeNames(session: string) {
  return useQuery({
    ...choicesOf(session, '/nodes'),
    refetchInterval: false,
    staleTime: 10_000,
    select: namesOfNodes,
  });
}

const namesOfNodes = ({ items }: Page<Item>) =>
  new Map((items as unknown as NodeRow[]).map((node) => [node.node_id, nodeTitle(node)] as const));

const namesOfJobs = ({ items }: Page<Item>) =>
  new Map(
    items.flatMap(({ job_id, entrypoint, submission_id }) => {
      const name = entrypoint ? programName(String(entrypoint)) : submission_id;
      return name ? [[String(job_id), String(name)] as const] : [];
    }),
  );
