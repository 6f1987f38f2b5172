import { useTranslation } from 'react-i18next';
import type { TrainRunItem } from '../../api/schema';
import { count, elapsedNs } from '../../base/format';
import { Duration } from '../../ui/Duration';
import { ItemState } from '../../ui/ItemState';
import { JobLink } from '../../ui/JobName';
import { Link } from '../../ui/Link';
import { Time } from '../../ui/Time';
import library from '../../ui/theme/library.module.css';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';

/** All runs, newest first. The chosen one is shown below. */
export function RunTable({ runs, chosen }: { runs: TrainRunItem[]; chosen: string }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  return (
    <div className={library.list}>
      <table className={library.table} data-testid="train-runs">
        <thead>
          <tr>
            <th>{t('train.run')}</th>
            <th>{t('train.state')}</th>
            <th>{t('train.attempts')}</th>
            <th data-number>{t('train.workers')}</th>
            <th>{t('train.job')}</th>
            <th>{t('train.started')}</th>
            <th data-number>{t('train.took')}</th>
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <tr key={run.run_id} aria-current={run.run_id === chosen || undefined} data-testid="train-run">
              <td>
                <Link to={{ ...url, item: run.run_id }} className={words.link}>
                  {run.name ?? run.run_id}
                </Link>
              </td>
              <td>
                <ItemState state={run.state} />
              </td>
              <td data-bad={run.failed_attempts > 0 || undefined}>
                {run.failed_attempts > 0
                  ? t('train.failedOf', { failed: run.failed_attempts, n: run.attempt_count })
                  : count(run.attempt_count)}
              </td>
              <td data-number>{count(run.worker_count)}</td>
              <td className={library.job}>{run.job_id !== null && <JobLink id={run.job_id} />}</td>
              <td>
                <Time ns={run.start_ns} />
              </td>
              <td data-number>
                <Duration ns={elapsedNs(run)} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
