import { useTranslation } from 'react-i18next';
import type { NodeDetail } from '../../api/schema';
import { filled, quoted } from '../../ui/charts/boards';
import { ChartGrid, ChartGroup } from '../../ui/charts/ChartGroup';
import { MetricChart } from '../../ui/charts/MetricChart';
import { useChartProps } from '../../ui/charts/useChartProps';
import { useCatalogueCharts } from '../../ui/charts/useMetrics';
import { useSessionUrl } from '../../ui/useUrl';

/** The usage of a node and of its workers over time. */
export function NodeCharts({ node }: { node: NodeDetail }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const charts = useCatalogueCharts(url.session, 'node');
  const propsOf = useChartProps();
  const of = `node_id="${quoted(node.node_id)}"`;
  return (
    <div data-testid="node-charts">
      <ChartGroup>
        <ChartGrid narrow>
          {charts.map((chart) => {
            const queries = filled(chart.queries, { node_id: node.node_id });
            return queries && <MetricChart key={chart.key} {...propsOf(chart, queries)} height={120} />;
          })}
          <MetricChart
            title={t('nodes.charts.workersCpu')}
            queries={[{ expr: `rayscope_worker_cpu_percent{${of}}`, legend: '{{pid}}' }]}
            unit="percent"
            height={120}
          />
          <MetricChart
            title={t('nodes.charts.workersMemory')}
            queries={[{ expr: `rayscope_worker_memory_bytes{${of}}`, legend: '{{pid}}' }]}
            unit="bytes"
            height={120}
          />
        </ChartGrid>
      </ChartGroup>
    </div>
  );
}
