import { useTranslation } from 'react-i18next';
import type { DatasetAnswer } from '../../api/schema';
import { rangeIn } from '../../base/url';
import { labels } from '../../ui/charts/boards';
import { ChartGrid, ChartGroup } from '../../ui/charts/ChartGroup';
import { MetricChart } from '../../ui/charts/MetricChart';
import { withChoice } from '../../ui/charts/timeRange';
import { WhereMeasured } from '../../ui/charts/WhereMeasured';
import library from '../../ui/theme/library.module.css';
import words from '../../ui/theme/words.module.css';
import { SessionContext, useSessionUrl } from '../../ui/useUrl';
import css from './data.module.css';

/**
 * The growth of a counter per second. It is unknown where the counter stays the same, because an operator may
 * have ended before Ray's first report of it.
 */
const rate = (counter: string) => `rate(${counter}{}[30s]) > 0 or ${counter}{} == 0`;

/** Charts of Ray Data's own metrics, by operator. */
const CHARTS = [
  { key: 'queuedBlocks', query: 'ray_data_operator_queued_blocks{}', unit: 'count' },
  { key: 'rowsPerSecond', query: rate('ray_data_output_rows'), unit: 'count/s' },
  {
    key: 'submissionBackpressure',
    query: rate('ray_data_task_submission_backpressure_time'),
    unit: 'ratio',
  },
  { key: 'outputBackpressure', query: rate('ray_data_task_output_backpressure_time'), unit: 'ratio' },
  { key: 'cpus', query: 'ray_data_cpu_usage_cores{}', unit: 'count' },
  { key: 'objectStore', query: 'ray_data_obj_store_mem_used{}', unit: 'bytes' },
  { key: 'spilled', query: 'ray_data_obj_store_mem_spilled{}', unit: 'bytes' },
] as const;

/** Before the start and after the end of a dataset, ms. Ray reports its metrics every few seconds. */
const MARGIN = 10_000;

/** The charts show the time of the dataset, unless the user has chosen a range. */
export function DatasetCharts({ dataset }: { dataset: DatasetAnswer }) {
  const { t } = useTranslation();
  const [url, change] = useSessionUrl();
  const of = labels({ dataset: dataset.dataset_id });
  const { start_ns: start, end_ns: end } = dataset;
  const isOpen =
    start === null || end === null || rangeIn(url.filters) !== null || url.settings?.span !== undefined;
  const own = isOpen
    ? url
    : withChoice(url, { kind: 'fixed', from: start / 1e6 - MARGIN, to: end / 1e6 + MARGIN });
  return (
    <SessionContext.Provider value={[own, change]}>
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
                      expr: `sum by (operator) (${query.replaceAll('{}', of)})`,
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
    </SessionContext.Provider>
  );
}
