import { useTranslation } from 'react-i18next';
import type { CatalogueChart } from './boards';
import type { Query } from './series';

/** Translated titles and line names of the server's charts, where there are translations. */
export function useChartTexts() {
  const { t, i18n } = useTranslation();
  return {
    title: ({ key, title }: Pick<CatalogueChart, 'key' | 'title'>): string =>
      i18n.exists(`chartTitle.${key}`) ? t(`chartTitle.${key}` as 'chartTitle.clusterCpu') : title,
    legend: (query: Query): Query => {
      const text = query.legend ?? '';
      if (!/^[\w ]+$/.test(text) || !i18n.exists(`chartLegend.${text}`)) return query;
      return { ...query, legend: t(`chartLegend.${text}` as 'chartLegend.used') };
    },
  };
}
