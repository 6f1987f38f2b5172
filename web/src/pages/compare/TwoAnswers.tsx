import { Loader } from '@mantine/core';
import { type UseQueryOptions, type UseQueryResult, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { refreshEnded } from '../../api/connection';
import type { ComparedRun } from '../../api/schema';
import { ErrorPanel } from '../../ui/ErrorPanel';
import type { SideName } from './sides';

interface Two<T> {
  a: T | undefined;
  b: T | undefined;
  queries: readonly UseQueryResult<T>[];
}

/** The answers to a request about the run of each side. */
export function useTwoAnswers<T>(
  runs: Record<SideName, ComparedRun>,
  toRun: (run: { session: string; job_id?: string }) => Pick<UseQueryOptions<T>, 'queryKey' | 'queryFn'>,
): Two<T> {
  const of = ({ session, job_id }: ComparedRun) => ({
    ...toRun({ session, job_id: job_id || undefined }),
    refetchInterval: refreshEnded,
  });
  const queries = [useQuery(of(runs.a)), useQuery(of(runs.b))] as const;
  const [a, b] = queries;
  return { a: a.data, b: b.data, queries };
}

/** The content once both answers are there. Until then, a loader or the error. */
export function TwoAnswers<T>({ two, children }: { two: Two<T>; children: ReactNode }) {
  const failed = two.queries.find(({ data, error }) => data === undefined && error !== null);
  if (failed?.error) return <ErrorPanel error={failed.error} onRetry={() => void failed.refetch()} />;
  return two.a === undefined || two.b === undefined ? <Loader size="sm" m="md" /> : children;
}
