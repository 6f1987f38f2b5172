import { useTranslation } from 'react-i18next';
import type { TuneExperimentItem } from '../../api/schema';
import { elapsedNs, short } from '../../base/format';
import { Dash } from '../../ui/Dash';
import { Duration } from '../../ui/Duration';
import { ItemState } from '../../ui/ItemState';
import { JobLink } from '../../ui/JobName';
import { Link } from '../../ui/Link';
import { Time } from '../../ui/Time';
import library from '../../ui/theme/library.module.css';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { TrialBar } from './TrialBar';
import css from './tune.module.css';

/** All experiments, newest first. The chosen one is shown below. */
export function ExperimentTable({
  experiments,
  chosen,
}: {
  experiments: TuneExperimentItem[];
  chosen: string;
}) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  return (
    <div className={library.list}>
      <table className={`${library.table} ${css.experiments}`} data-testid="tune-experiments">
        <thead>
          <tr>
            <th>{t('tune.experiment')}</th>
            <th>{t('tune.state')}</th>
            <th>{t('tune.trials')}</th>
            <th>{t('tune.best')}</th>
            <th>{t('tune.job')}</th>
            <th>{t('tune.started')}</th>
            <th data-number>{t('tune.took')}</th>
          </tr>
        </thead>
        <tbody>
          {experiments.map((one) => (
            <tr
              key={one.experiment_id}
              aria-current={one.experiment_id === chosen || undefined}
              data-testid="tune-experiment"
            >
              <td>
                <Link to={{ ...url, item: one.experiment_id }} className={words.link}>
                  {one.name ?? one.experiment_id}
                </Link>
              </td>
              <td>
                <span className={css.states}>
                  <ItemState state={one.state} />
                  {one.is_restored && <span className={words.dim}>{t('tune.restored')}</span>}
                </span>
              </td>
              <td>
                <TrialBar of={one} />
              </td>
              <td className={words.num}>
                {one.best_value === null ? <Dash /> : `${one.metric} ${short(one.best_value)}`}
              </td>
              <td className={library.job}>{one.job_id !== null && <JobLink id={one.job_id} />}</td>
              <td>
                <Time ns={one.start_ns} />
              </td>
              <td data-number>
                <Duration ns={elapsedNs(one)} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
