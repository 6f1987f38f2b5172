import { useTranslation } from 'react-i18next';
import type { TrainRunAnswer } from '../../api/schema';
import { count, duration } from '../../base/format';
import { toView, withSettings } from '../../base/url';
import { Dash } from '../../ui/Dash';
import { ItemLink } from '../../ui/ItemLink';
import { ItemState } from '../../ui/ItemState';
import { Link } from '../../ui/Link';
import library from '../../ui/theme/library.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import css from './train.module.css';

/** The workers of the chosen attempt by rank, with their location and step times. */
export function WorkerTable({ run }: { run: TrainRunAnswer }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const times = new Map(run.ranks.map((one) => [one.rank, one]));
  const isReporting = run.workers.some((one) => one.reporting_since_ns !== null);
  return (
    <div className={css.workers}>
      <table className={library.table} data-testid="train-workers">
        <thead>
          <tr>
            <th data-number>{t('train.rank')}</th>
            <th>{t('libraryItem.state')}</th>
            {isReporting && <th>{t('train.now')}</th>}
            <th data-number title={t('train.part.own')}>
              {t('train.median')}
            </th>
            <th data-number title={t('train.part.own')}>
              {t('train.slowest')}
            </th>
            <th data-number title={t('train.straggles')}>
              {t('train.straggled')}
            </th>
            <th>{t('train.log')}</th>
            <th>{t('train.node')}</th>
            <th data-number>{t('train.localRank')}</th>
            <th>{t('train.gpus')}</th>
            <th data-number>{t('train.pid')}</th>
            <th>{t('train.actor')}</th>
          </tr>
        </thead>
        <tbody>
          {run.workers.map((worker) => {
            const of = times.get(worker.world_rank ?? -1);
            return (
              <tr key={worker.train_worker_id} data-testid="train-worker">
                <td data-number>{worker.world_rank}</td>
                <td>
                  <ItemState state={worker.state} />
                </td>
                {isReporting && (
                  <td data-bad={worker.reporting_since_ns === null || undefined} data-testid="train-now">
                    {worker.reporting_since_ns === null
                      ? t('train.notReporting')
                      : t('train.reporting', {
                          span: duration(Math.max(0, Date.now() * 1e6 - worker.reporting_since_ns)),
                        })}
                  </td>
                )}
                <td data-number>{of?.p50_ns == null ? <Dash /> : duration(of.p50_ns)}</td>
                <td data-number>{of?.max_ns == null ? <Dash /> : duration(of.max_ns)}</td>
                <td data-number data-bad={(of?.straggles ?? 0) > 0 || undefined}>
                  {of === undefined ? <Dash /> : count(of.straggles)}
                </td>
                <td>
                  {worker.log_file !== null && worker.node_id !== null ? (
                    <Link
                      to={withSettings(toView(url, 'logs'), { node: worker.node_id, file: worker.log_file })}
                    >
                      {t('train.log')}
                    </Link>
                  ) : (
                    <Dash />
                  )}
                </td>
                <td>{worker.node_id ? <ItemLink view="nodes" id={worker.node_id} /> : worker.node_ip}</td>
                <td data-number>{worker.local_rank}</td>
                <td>{worker.gpus.length > 0 ? worker.gpus.join(', ') : <Dash />}</td>
                <td data-number>{worker.pid}</td>
                <td>
                  <ItemLink view="actors" id={worker.actor_id} />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
