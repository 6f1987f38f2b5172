import { useTranslation } from 'react-i18next';
import { labels } from '../../ui/charts/boards';
import { ChartGrid, ChartGroup } from '../../ui/charts/ChartGroup';
import { MetricChart } from '../../ui/charts/MetricChart';
import library from '../../ui/theme/library.module.css';

const WORLD_RANK = 'ray_train_worker_world_rank';

/** Charts of Ray's own metrics of a run. */
export function RunCharts({ id }: { id: string }) {
  const { t } = useTranslation();
  const of = labels({ ray_train_run_id: id });
  const rate = (name: string, by: string, where = '') => `sum by (${by}) (rate(${name}${where}[30s]))`;
  const named = (expr: string, split: string, name: string) =>
    `label_replace(${expr}, "split", "${name}", "split", "${split}")`;
  const rank = (n: string) => t('train.rankN', { n });
  const charts = [
    {
      key: 'blocked',
      expr: rate('ray_train_report_total_blocked_time_s', WORLD_RANK, of),
      legend: rank(`{{${WORLD_RANK}}}`),
    },
    {
      key: 'checkpoints',
      expr: `${rate('ray_train_checkpoint_transfer_total_time_s', WORLD_RANK, of)} + ${rate('ray_train_checkpoint_sync_total_time_s', WORLD_RANK, of)}`,
      legend: rank(`{{${WORLD_RANK}}}`),
    },
    {
      key: 'dataWait',
      // Older versions of Ray do not distinguish the ranks.
      expr: named(
        named(rate('ray_data_iter_total_blocked_seconds', 'split'), 'split_(.+)', rank('$1')),
        '',
        t('train.charts.allRanks'),
      ),
      legend: '{{split}}',
    },
  ] as const;
  return (
    <div className={library.charts}>
      <ChartGroup>
        <ChartGrid>
          {charts.map(({ key, expr, legend }) => (
            <MetricChart
              key={key}
              title={t(`train.charts.${key}`)}
              queries={[{ expr, legend }]}
              unit="ratio"
              height={130}
            />
          ))}
        </ChartGrid>
      </ChartGroup>
    </div>
  );
}
