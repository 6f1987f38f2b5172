import { ChartGrid, ChartGroup } from '../../ui/charts/ChartGroup';
import { MetricChart } from '../../ui/charts/MetricChart';
import { useChartProps } from '../../ui/charts/useChartProps';
import { useCatalogueCharts } from '../../ui/charts/useMetrics';
import { useSessionUrl } from '../../ui/useUrl';

/** The charts of where memory is used: worker heaps, object stores, and disk. */
const CHARTS = ['clusterHeap', 'clusterObjectStore', 'clusterSpilled'];

/** Memory used in worker heaps and object stores, and on disk, over time. */
export function MemoryCharts() {
  const [url] = useSessionUrl();
  const propsOf = useChartProps();
  const all = useCatalogueCharts(url.session, 'cluster');
  return (
    <div data-testid="memory-charts">
      <ChartGroup>
        <ChartGrid>
          {CHARTS.flatMap((key) => all.filter((chart) => chart.key === key)).map((chart) => (
            <MetricChart key={chart.key} {...propsOf(chart)} height={130} />
          ))}
        </ChartGrid>
      </ChartGroup>
    </div>
  );
}
