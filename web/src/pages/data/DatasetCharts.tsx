import { useTranslation } from 'react-i18next';
import { labels } from '../../ui/charts/boards';
import { ChartGrid, ChartGroup } from '../../ui/charts/ChartGroup';
import { MetricChart } from '../../ui/charts/MetricChart';
import { WhereMeasured } from '../../ui/charts/WhereMeasured';
import library from '../../ui/theme/library.module.css';
import words from '../../ui/theme/words.module.css';
import css from './data.module.css';

/** Charts of Ray Data's own metrics, by operator. */
const CHARTS = [
  { key: 'queuedBlocks', query: 'ray_data_operator_queued_blocks', unit: 'count' },
  { key: 'rowsPerSecond', query: 'rate(ray_data_output_rows{}[30s])', unit: 'count/s' },
  {
    key: 'submissionBackpressure',
    query: 'rate(ray_data_task_submission_backpressure_time{}[30s])',
    unit: 'ratio',
  },
  { key: 'outputBackpressure', query: 'rate(ray_data_task_output_backpressure_time{}[30s])', unit: 'ratio' },
  { key: 'cpus', query: 'ray_data_cpu_usage_cores', unit: 'count' },
  { key: 'objectStore', query: 'ray_data_obj_store_mem_used', unit: 'bytes' },
  { key: 'spilled', query: 'ray_data_obj_store_mem_spilled', unit: 'bytes' },
] as const;

export function DatasetCharts({ id }: { id: string }) {
  const { t } = useTranslation();
  const of = labels({ dataset: id });
  return (
    <div className={library.charts} data-testid="dataset-charts">
      <ChartGroup>
        <WhereMeasured
          metric="ray_data_output_rows"
          of={of}
          otherwise={<p className={`${words.dim} ${css.noSeries}`}>{t('data.noSeries')}</p>}
        >
          <ChartGrid>
            {CHARTS.map(({ key, query, unit }) => (
              <MetricChart
                key={key}
                title={t(`data.charts.${key}`)}
                queries={[
                  {
                    expr: `sum by (operator) (${query.includes('{}') ? query.replace('{}', of) : query + of})`,
                    legend: '{{operator}}',
                  },
                ]}
                unit={unit}
                height={130}
              />
            ))}
          </ChartGrid>
        </WhereMeasured>
      </ChartGroup>
    </div>
  );
}
