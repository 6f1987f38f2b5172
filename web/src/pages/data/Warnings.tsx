import { useTranslation } from 'react-i18next';
import type { DatasetAnswer } from '../../api/schema';
import { toView } from '../../base/url';
import { Link } from '../../ui/Link';
import { Time } from '../../ui/Time';
import library from '../../ui/theme/library.module.css';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import css from './data.module.css';
import { breakable, tasksOf } from './dataset';

/** Ray Data's warnings about the operators of a dataset. */
export function Warnings({ dataset }: { dataset: DatasetAnswer }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const job = dataset.job_id === null ? {} : { job_id: dataset.job_id };
  return (
    <div className={library.scroll}>
      <table className={`${library.table} ${css.table}`} data-testid="dataset-warnings">
        <thead>
          <tr>
            <th>{t('data.operator')}</th>
            <th>{t('data.warnedAt')}</th>
            <th>{t('data.issue')}</th>
            <th>{t('data.message')}</th>
          </tr>
        </thead>
        <tbody>
          {dataset.warnings.map((warning) => {
            const operator = dataset.operators.find((one) => one.name === warning.operator);
            return (
              <tr
                key={`${warning.time_ns} ${warning.operator} ${warning.issue}`}
                data-testid="dataset-warning"
              >
                <td>
                  {operator === undefined ? (
                    warning.operator
                  ) : (
                    <Link to={toView(url, 'tasks', { ...tasksOf(operator), ...job })} className={words.link}>
                      {breakable(operator.name)}
                    </Link>
                  )}
                </td>
                <td className={css.unbroken}>
                  <Time ns={warning.time_ns} exact />
                </td>
                <td className={css.unbroken}>{warning.issue}</td>
                <td>
                  <details>
                    <summary className={css.warning}>{warning.message}</summary>
                  </details>
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
