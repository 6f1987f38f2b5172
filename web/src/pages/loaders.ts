import type { ComponentType } from 'react';
import type { Summary } from '../api/types';
import type { View } from '../app/url';

export interface PageProps {
  /** Undefined while it is on its way. */
  summary: Summary | undefined;
}

type Loader = () => Promise<{ default: ComponentType<PageProps> }>;

const asPage = (page: ComponentType<PageProps>) => ({ default: page });

/** How each view comes: as a chunk of its own. */
export const LOADERS: Record<View, Loader> = {
  overview: () => import('./OverviewPage'),
  tasks: () => import('./TasksView').then((found) => asPage(found.TasksView)),
  functions: () => import('./FunctionsView').then((found) => asPage(found.FunctionsView)),
  failures: () => import('./FailuresPage'),
  logical: () => import('../flow/LogicalView').then((found) => asPage(found.LogicalView)),
  physical: () => import('../flow/PhysicalView').then((found) => asPage(found.PhysicalView)),
  gantt: () => import('../flow/GanttView').then((found) => asPage(found.GanttView)),
  flame: () => import('../flow/FlameView').then((found) => asPage(found.FlameView)),
  stack: () => import('../flow/StackView').then((found) => asPage(found.StackView)),
  actors: () => import('../jobs/EntityDetails').then((found) => asPage(found.ActorsPage)),
  workers: () => import('./EntityView').then((found) => asPage(found.WorkersPage)),
  nodes: () => import('./NodesPage'),
  jobs: () => import('../jobs/JobsPage'),
  'placement-groups': () =>
    import('../jobs/EntityDetails').then((found) => asPage(found.PlacementGroupsPage)),
  memory: () => import('../memory/MemoryPage'),
  events: () => import('../jobs/EventsPage'),
  logs: () => import('../logs/LogsPage'),
  metrics: () => import('./MetricsPage'),
  alerts: () => import('../alerts/AlertsPage'),
};
