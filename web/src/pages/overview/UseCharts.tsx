import { memo } from 'react';
import { useTranslation } from 'react-i18next';
import type { CatalogueChart } from '../../ui/charts/boards';
import { ChartGrid } from '../../ui/charts/ChartGroup';
import { MetricChart } from '../../ui/charts/MetricChart';
import { figures, latest } from '../../ui/charts/series';
import { valueText } from '../../ui/charts/units';
import { useChart } from '../../ui/charts/useChart';
import { useChartProps } from '../../ui/charts/useChartProps';
import { useCatalogueCharts, useMetricNames } from '../../ui/charts/useMetrics';
import { useTimeRange } from '../../ui/charts/useTimeRange';
import { useSessionUrl } from '../../ui/useUrl';
import css from './OverviewPage.module.css';

/** Charts of the total, reserved and used amounts of a resource. A sentence sums up each of them. */
const CAPACITY = ['clusterCpus', 'clusterReservedMemory', 'clusterGpus'] as const;
/** Charts from the server's catalogue that show how full a cluster is. */
const CHARTS = [
  ...CAPACITY,
  'clusterTasks',
  'clusterObjectStore',
  'clusterTasksEnded',
  'clusterNetwork',
  'clusterGpu',
  'clusterGpuMemory',
];

/** How full the cluster is, as text and charts. */
export const UseCharts = memo(function UseCharts() {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const propsOf = useChartProps();
  const all = useCatalogueCharts(url.session, 'cluster');
  const measured = useMetricNames(url.session, 'ray_node_cpu_utilization').data?.items;
  if (measured?.length === 0)
    return (
      <p className={css.peaks} data-testid="no-metrics">
        {t('overview.noMetrics')}
      </p>
    );
  const shown = CHARTS.flatMap((key) => all.filter((chart) => chart.key === key));
  return (
    <>
      <p className={css.peaks} data-testid="capacity">
        {shown.map((chart) => (
          <CapacityText key={chart.key} chart={chart} />
        ))}
      </p>
      <ChartGrid>
        {shown.map((chart) => (
          <MetricChart key={chart.key} {...propsOf(chart)} height={130} />
        ))}
      </ChartGrid>
    </>
  );
});

/**
 * `4 CPUs, 3 reserved, 0.3 used by Ray`: current values or, if the chart shows a past range, averages over
 * that range.
 */
function CapacityText({ chart }: { chart: CatalogueChart }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const { choice, bounds } = useTimeRange();
  const name = CAPACITY.find((key) => key === chart.key);
  const { data } = useChart(url.session, chart.queries, name !== undefined);
  if (name === undefined || data === undefined) return null;
  const isNow = bounds.live && choice.kind !== 'fixed';
  const [total, reserved, used] = chart.queries.map((_, query) => {
    const values = data.lines.find(({ key }) => key.startsWith(`${query} `))?.values ?? [];
    const value = isNow ? latest(values) : figures(values).mean;
    return valueText(value, chart.unit);
  });
  if (total === valueText(null)) return null;
  const text = t(`overview.capacity.${name}`, { total, reserved, used });
  return <>{t(isNow ? 'overview.now' : 'overview.onAverage', { text })} </>;
}
