import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { get } from '../../api/client';
import { refreshInterval } from '../../api/connection';
import { answerTo, isOf, queryClient, useSessions } from '../../api/queries';
import { type ClusterTopic, useTopic } from '../../api/realtime';
import type { CatalogueChart, Dashboard } from './boards';

export type { NameItem as MetricName } from '../../api/schema';

export function useMetricNames(session: string, q: string) {
  return useQuery({
    ...answerTo('/metrics/names', { session, q }),
    placeholderData: keepPreviousData,
    refetchInterval: false,
    staleTime: 30_000,
  });
}

/** The chart catalogue, which is the same for all sessions. */
export function useCatalogue() {
  return useQuery({
    ...answerTo('/metrics/charts', {}),
    refetchInterval: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/**
 * The charts of a catalogue page. GPU charts are included only if the cluster has had a GPU. *Memory used* by
 * node is left out for a single node, because *Memory* says the same.
 */
export function useCatalogueCharts(session: string, page: string): CatalogueChart[] {
  const charts = useCatalogue().data?.pages.find(({ name }) => name === page)?.charts;
  const measured = useMetricNames(session, 'ray_node_gpus').data?.items.length ?? 0;
  const known = useTopic<ClusterTopic>('cluster', { session })?.resources_total.GPU ?? 0;
  const hasGpu = measured > 0 || known > 0;
  const isSingle = useSessions(
    ({ items }) => items.find((item) => item.session === session)?.nodes === 1,
  ).data;
  return useMemo(
    () =>
      (charts ?? []).filter(
        ({ key }) => (hasGpu || !key.includes('Gpu')) && !(isSingle && key === 'clusterMemory'),
      ),
    [charts, hasGpu, isSingle],
  );
}

export function useDashboards() {
  return useQuery({
    ...answerTo('/dashboards', {}),
    refetchInterval: () => refreshInterval(30_000),
  });
}

export const getDashboard = (name: string, signal?: AbortSignal) =>
  get('/dashboards/{name}', { name }, signal) as Promise<Dashboard>;

/** A dashboard in full. */
export function useDashboard(name: string | undefined) {
  return useQuery({
    queryKey: ['/dashboards/{name}', { name }],
    queryFn: ({ signal }) => getDashboard(name ?? '', signal),
    enabled: name !== undefined,
    refetchInterval: () => refreshInterval(30_000),
  });
}

/** Refetches the dashboards after one was saved or deleted. */
export function dashboardsChanged(): Promise<void> {
  return queryClient.invalidateQueries({ predicate: isOf('/dashboards') });
}
