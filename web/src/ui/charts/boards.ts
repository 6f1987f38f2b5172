/** The charts of the server's catalogue and of user dashboards, and functions that edit them. */

import type { DashboardChart as ChartGiven, Dashboard as StoredDashboard } from '../../api/schema';
import type { Query } from './series';

export type {
  DashboardInShort as DashboardSummary,
  ListedChart as CatalogueChart,
  ListedPage as CataloguePage,
  ListedVariable as Variable,
} from '../../api/schema';

/** A chart as it is stored and edited. */
export type DashboardChart = Required<Omit<ChartGiven, 'expr' | 'stacked'>> & Pick<ChartGiven, 'stacked'>;

// The schema of an answer allows any number as the width of a chart.
export type Dashboard = Omit<StoredDashboard, 'charts'> & { charts: DashboardChart[] };

/** The available units. The empty one leaves the choice to the server. */
export const UNITS = ['', 'count', 'percent', 'ratio', 's', 'bytes', 'bytes/s', 'count/s'] as const;

/** Escapes a label's value for a PromQL string. */
export const quoted = (value: string) =>
  value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');

/** A PromQL selector for these labels. */
export function labels(of: Record<string, string>): string {
  return `{${Object.entries(of)
    .map(([name, value]) => `${name}="${quoted(value)}"`)
    .join(',')}}`;
}

/** Queries with their variables replaced; null while a variable has no value. */
export function filled(
  queries: readonly Query[],
  values: Record<string, string | undefined>,
): Query[] | null {
  let lacking = false;
  const done = queries.map((query) => ({
    ...query,
    expr: query.expr.replace(/\$(\w+)/g, (all, name: string) => {
      if (!(name in values)) return all;
      const value = values[name];
      if (value === undefined) lacking = true;
      return quoted(value ?? '');
    }),
  }));
  return lacking ? null : done;
}

/** The file name of a new dashboard: its title in lower-case letters and digits, made unique. */
export function boardName(title: string, taken: readonly string[]): string {
  const plain = title
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40)
    .replace(/-+$/, '');
  const base = plain || 'dashboard';
  if (!taken.includes(base)) return base;
  let number = 2;
  while (taken.includes(`${base}-${number}`)) number += 1;
  return `${base}-${number}`;
}

/** The list with one element moved by `by` places. The list stays the same if the element would leave it. */
export function moved<T>(list: readonly T[], at: number, by: number): T[] {
  const to = at + by;
  if (at < 0 || at >= list.length || to < 0 || to >= list.length) return [...list];
  const next = [...list];
  const [one] = next.splice(at, 1);
  if (one !== undefined) next.splice(to, 0, one);
  return next;
}

/**
 * A first expression to show for a metric: the rate of a counter, the 95th percentile of a histogram,
 * otherwise the metric itself.
 */
export function firstLook(name: string, type: string): string {
  if (type === 'histogram')
    return `histogram_quantile(0.95, sum by (le) (rate(${name.replace(/_bucket$/, '')}_bucket[5m])))`;
  return type === 'counter' ? `rate(${name}[1m])` : name;
}

/**
 * The first problem that prevents saving a dashboard, as a key of the translations; null if there is none.
 */
export function problemOf({ title, charts }: Pick<Dashboard, 'title' | 'charts'>) {
  if (title.trim() === '') return 'noTitle' as const;
  if (charts.some((chart) => chart.title.trim() === '')) return 'noChartTitle' as const;
  if (charts.some((chart) => chart.queries.every(({ expr }) => expr.trim() === ''))) return 'noExpr' as const;
  return null;
}

/** The charts as they are saved: without empty queries and with spaces trimmed. */
export function tidied(charts: readonly DashboardChart[]): DashboardChart[] {
  return charts.map((chart) => ({
    ...chart,
    title: chart.title.trim(),
    queries: chart.queries
      .filter(({ expr }) => expr.trim() !== '')
      .map(({ expr, legend }) => ({ expr: expr.trim(), ...(legend?.trim() && { legend: legend.trim() }) })),
  }));
}
