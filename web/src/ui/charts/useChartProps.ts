import { useTranslation } from 'react-i18next';
import type { CatalogueChart } from './boards';
import type { Query } from './series';

/**
 * The properties of the server's charts. Titles and names of lines are translated if there is a translation.
 */
export function useChartProps() {
  const { t, i18n } = useTranslation();
  const legend = (query: Query): Query => {
    const text = query.legend ?? '';
    if (!/^[\w ]+$/.test(text) || !i18n.exists(`chartLegend.${text}`)) return query;
    return { ...query, legend: t(`chartLegend.${text}` as 'chartLegend.used') };
  };
  return ({ key, title, unit, stacked, ...chart }: CatalogueChart, queries: Query[] = chart.queries) => ({
    title: i18n.exists(`chartTitle.${key}`) ? t(`chartTitle.${key}` as 'chartTitle.clusterCpu') : title,
    queries: queries.map(legend),
    unit,
    stacked,
  });
}
