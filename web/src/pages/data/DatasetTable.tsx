import { useTranslation } from 'react-i18next';
import type { DatasetItem } from '../../api/schema';
import { count, elapsedNs } from '../../base/format';
import { Duration } from '../../ui/Duration';
import { ItemState } from '../../ui/ItemState';
import { JobLink } from '../../ui/JobName';
import { Link } from '../../ui/Link';
import { Time } from '../../ui/Time';
import library from '../../ui/theme/library.module.css';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import css from './data.module.css';
import { Progress } from './Progress';

/** All datasets, newest first. The chosen one is shown below. */
export function DatasetTable({ datasets, chosen }: { datasets: DatasetItem[]; chosen: string }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  return (
    <div className={library.list}>
      <table className={`${library.table} ${css.table}`} data-testid="datasets">
        <thead>
          <tr>
            <th>{t('data.dataset')}</th>
            <th>{t('data.state')}</th>
            <th>{t('data.progress')}</th>
            <th data-number>{t('data.rows')}</th>
            <th data-number>{t('data.operators')}</th>
            <th>{t('data.job')}</th>
            <th>{t('data.started')}</th>
            <th data-number>{t('data.took')}</th>
          </tr>
        </thead>
        <tbody>
          {datasets.map((dataset) => (
            <tr
              key={dataset.dataset_id}
              aria-current={dataset.dataset_id === chosen || undefined}
              data-testid="dataset"
            >
              <td>
                <Link to={{ ...url, item: dataset.dataset_id }} className={words.link}>
                  {dataset.name}
                </Link>
              </td>
              <td>
                <ItemState state={dataset.state} />
              </td>
              <td>
                <Progress of={dataset} />
              </td>
              <td data-number>{count(dataset.total_rows)}</td>
              <td data-number>{count(dataset.operators.length)}</td>
              <td className={library.job}>{dataset.job_id !== null && <JobLink id={dataset.job_id} />}</td>
              <td>
                <Time ns={dataset.start_ns} />
              </td>
              <td data-number>
                <Duration ns={elapsedNs(dataset)} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
