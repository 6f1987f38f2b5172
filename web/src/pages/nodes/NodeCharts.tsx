import { useTranslation } from 'react-i18next';
import type { NodeDetail } from '../../api/schema';
import { filled, quoted } from '../../ui/charts/boards';
import { ChartGrid, ChartGroup } from '../../ui/charts/ChartGroup';
import { useChartTexts } from '../../ui/charts/chartTexts';
import { MetricChart } from '../../ui/charts/MetricChart';
import { useCatalogueCharts } from '../../ui/charts/useMetrics';
import { useSessionUrl } from '../../ui/useUrl';

/** Usage of a node over time: the catalogue's node charts, and its workers. */
export function NodeCharts({ node }: { node: NodeDetail }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const charts = useCatalogueCharts(url.session, 'node');
  const { title, legend } = useChartTexts();
  const of = `node_id="${quoted(node.node_id)}"`;
  return (
    <div data-testid="node-charts">
      <ChartGroup>
        <ChartGrid narrow>
          {charts.map((chart) => {
            const queries = filled(chart.queries, { node_id: node.node_id })?.map(legend);
            if (queries == null) return null;
            return (
              <MetricChart
                key={chart.key}
                title={title(chart)}
                queries={queries}
                unit={chart.unit}
                stacked={chart.stacked}
                height={120}
              />
            );
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
