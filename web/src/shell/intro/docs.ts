import type { View } from '../../base/url';

const UI = 'reference/ui.md';

/** The path of each page's description in the bundled documentation. */
const PAGES: Record<View, string> = {
  overview: 'reference/metrics-page.md',
  insights: 'how-to/diagnose.md',
  tasks: UI,
  functions: UI,
  failures: UI,
  logical: `${UI}#logical-graph`,
  physical: `${UI}#physical-view`,
  gantt: `${UI}#gantt`,
  flame: `${UI}#flame-graph`,
  stack: `${UI}#distributed-call-stack`,
  actors: UI,
  workers: UI,
  nodes: 'reference/nodes.md',
  jobs: 'reference/jobs.md',
  'placement-groups': UI,
  memory: 'reference/memory.md',
  data: 'reference/libraries.md#ray-data',
  serve: 'reference/libraries.md#ray-serve',
  train: 'reference/libraries.md#ray-train',
  tune: 'reference/libraries.md#ray-tune',
  events: 'reference/jobs.md',
  logs: 'reference/logs.md',
  metrics: 'reference/metrics-page.md',
  alerts: 'reference/alerts.md',
  sql: 'reference/sql.md',
};

export const docsOf = (view: View | undefined) => `/docs/${view === undefined ? 'index.md' : PAGES[view]}`;
