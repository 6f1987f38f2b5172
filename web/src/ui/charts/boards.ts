/** The charts of the server's catalogue and of the dashboards that users make, and how they are edited. */

import type { Query } from './series';

/** A chart as `/api/metrics/charts` lists it. */
export interface CatalogueChart {
  /** Its title in other languages stands under it in the UI's texts. */
  key: string;
  title: string;
  queries: Query[];
  unit: string;
  stacked: boolean;
  width: number;
}

/** `$NAME` in a page's queries stands for the value of a label of a metric. */
export interface Variable {
  name: string;
  label: string;
  metric: string;
}

export interface CataloguePage {
  name: string;
  title: string;
  charts: CatalogueChart[];
  variables: Variable[];
}

export interface DashboardChart {
  title: string;
  queries: Query[];
  unit: string;
  width: 1 | 2 | 3;
  stacked?: boolean;
}

/** A dashboard as the list has it. */
export interface DashboardInShort {
  name: string;
  title: string;
  charts_total: number;
  changed_ns: number;
}

export interface Dashboard {
  name: string;
  title: string;
  charts: DashboardChart[];
}

/** Units to choose from; the first lets the server say. */
export const UNITS = ['', 'count', 'percent', 'ratio', 's', 'bytes', 'bytes/s', 'count/s'] as const;

/** A value of a label inside a string of PromQL. */
export const quoted = (value: string) => value.replaceAll('\\', '\\\\').replaceAll('"', '\\"');

/** Queries with what their variables stand for; null while one has no value. */
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

/** The name of a new dashboard's file: its title in small letters and digits, apart from all others. */
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

/** The list with one element moved by `by` places, as far as there is room. */
export function moved<T>(list: readonly T[], at: number, by: number): T[] {
  const to = at + by;
  if (at < 0 || at >= list.length || to < 0 || to >= list.length) return [...list];
  const next = [...list];
  const [one] = next.splice(at, 1);
  if (one !== undefined) next.splice(to, 0, one);
  return next;
}

/** What a metric is first looked at with: a counter by its rate, a histogram by its 95th percentile. */
export function firstLook(name: string, type: string): string {
  if (type === 'histogram')
    return `histogram_quantile(0.95, sum by (le) (rate(${name.replace(/_bucket$/, '')}_bucket[5m])))`;
  return type === 'counter' ? `rate(${name}[1m])` : name;
}

/** What is wrong with a dashboard about to be saved: the first of it, as a key of the texts; null if nothing. */
export function problemOf({ title, charts }: Pick<Dashboard, 'title' | 'charts'>) {
  if (title.trim() === '') return 'noTitle' as const;
  if (charts.some((chart) => chart.title.trim() === '')) return 'noChartTitle' as const;
  if (charts.some((chart) => chart.queries.every(({ expr }) => expr.trim() === ''))) return 'noExpr' as const;
  return null;
}

/** Without empty queries and with spaces trimmed, as it is saved. */
export function tidied(charts: readonly DashboardChart[]): DashboardChart[] {
  return charts.map((chart) => ({
    ...chart,
    title: chart.title.trim(),
    queries: chart.queries
      .filter(({ expr }) => expr.trim() !== '')
      .map(({ expr, legend }) => ({ expr: expr.trim(), ...(legend?.trim() && { legend: legend.trim() }) })),
  }));
}
