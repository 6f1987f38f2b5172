import { type ComponentType, type LazyExoticComponent, lazy } from 'react';
import { VIEWS, type View } from './base/url';
import { LOADERS, type PageProps } from './loaders';

/** The page of each view. */
export const PAGES = Object.fromEntries(VIEWS.map((view) => [view, lazy(LOADERS[view])])) as Record<
  View,
  LazyExoticComponent<ComponentType<PageProps>>
>;

/** The panel of a task, over any page. */
export const TaskDrawer = lazy(() =>
  import('./pages/tasks/TaskDrawer').then((found) => ({ default: found.TaskDrawer })),
);
