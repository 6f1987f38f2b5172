import type { ComponentType } from 'react';
import type { View } from './base/url';
import type { PageProps } from './shell/pages';

type Loader = () => Promise<{ default: ComponentType<PageProps> }>;

const asPage = (page: ComponentType<PageProps>) => ({ default: page });

/** Loads each view as its own chunk. */
export const LOADERS: Record<View, Loader> = {
  overview: () => import('./pages/overview/OverviewPage'),
  insights: () => import('./pages/insights/InsightsPage'),
  tasks: () => import('./pages/tasks/TasksView').then((found) => asPage(found.TasksView)),
  functions: () => import('./pages/functions/FunctionsView').then((found) => asPage(found.FunctionsView)),
  failures: () => import('./pages/failures/FailuresPage'),
  logical: () => import('./views/logical/LogicalView').then((found) => asPage(found.LogicalView)),
  physical: () => import('./views/physical/PhysicalView').then((found) => asPage(found.PhysicalView)),
  gantt: () => import('./views/gantt/GanttView').then((found) => asPage(found.GanttView)),
  flame: () => import('./views/flame/FlameView').then((found) => asPage(found.FlameView)),
  stack: () => import('./views/stack/StackView').then((found) => asPage(found.StackView)),
  actors: () => import('./pages/entities/EntityDetails').then((found) => asPage(found.ActorsPage)),
  workers: () => import('./pages/entities/WorkersPage').then((found) => asPage(found.WorkersPage)),
  nodes: () => import('./pages/nodes/NodesPage'),
  jobs: () => import('./pages/entities/JobsPage'),
  'placement-groups': () =>
    import('./pages/entities/EntityDetails').then((found) => asPage(found.PlacementGroupsPage)),
  memory: () => import('./pages/memory/MemoryPage'),
  data: () => import('./pages/data/DataPage'),
  serve: () => import('./pages/serve/ServePage'),
  train: () => import('./pages/train/TrainPage'),
  tune: () => import('./pages/tune/TunePage'),
  events: () => import('./pages/events/EventsPage'),
  logs: () => import('./pages/logs/LogsPage'),
  metrics: () => import('./pages/metrics/MetricsPage'),
  alerts: () => import('./pages/alerts/AlertsPage'),
  sql: () => import('./pages/sql/SqlPage'),
};
