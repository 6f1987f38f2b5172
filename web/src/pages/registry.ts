import { type ComponentType, type LazyExoticComponent, lazy } from 'react';
import type { Summary } from '../api/types';
import type { View } from '../app/url';

export interface PageProps {
  /** Undefined while it is on its way. */
  summary?: Summary;
}

/** Pages that come as chunks of their own, by view. `lazy(() => import('./X'))` of a default export. */
export const PAGES: Partial<Record<View, LazyExoticComponent<ComponentType<PageProps>>>> = {
  actors: lazy(() => import('../jobs/ActorsPage')),
  alerts: lazy(() => import('../alerts/AlertsPage')),
  events: lazy(() => import('../jobs/EventsPage')),
  logs: lazy(() => import('../logs/LogsPage')),
  jobs: lazy(() => import('../jobs/JobsPage')),
  'placement-groups': lazy(() => import('../jobs/PlacementGroupsPage')),
  memory: lazy(() => import('../memory/MemoryPage')),
  nodes: lazy(() => import('./NodesPage')),
  metrics: lazy(() => import('./MetricsPage')),
  overview: lazy(() => import('./OverviewPage')),
};
