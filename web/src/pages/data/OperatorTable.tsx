import { useTranslation } from 'react-i18next';
import type { DatasetAnswer, OperatorDetail } from '../../api/schema';
import { bytes, count } from '../../base/format';
import { total } from '../../base/progress';
import { toView } from '../../base/url';
import { Dash } from '../../ui/Dash';
import { Duration } from '../../ui/Duration';
import { Link } from '../../ui/Link';
import { ShareBar } from '../../ui/ShareBar';
import library from '../../ui/theme/library.module.css';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import css from './data.module.css';
import { breakable, skew, tasksOf } from './dataset';

/** Ratio to the median from which the slowest task or the largest output is highlighted. */
const UNEVEN_RATIO = 3;

/** Input and output of the tasks of each operator. */
export function OperatorTable({ dataset }: { dataset: DatasetAnswer }) {
  const { t } = useTranslation();
  const all = dataset.operators.reduce((sum, one) => sum + (one.tasks?.time_ns ?? 0), 0);
  const withTasks = dataset.operators.filter((one) => one.tasks !== null);
  if (withTasks.length === 0) return <p className={words.dim}>{t('data.noTasks')}</p>;
  return (
    <div className={library.scroll}>
      <table className={`${library.table} ${css.table}`} data-testid="operator-table">
        <thead>
          <tr>
            <th>{t('data.operator')}</th>
            <th>{t('data.timeShare')}</th>
            <th data-number>{t('data.taskCount')}</th>
            <th data-number>{t('data.failed')}</th>
            <th data-number>{t('data.rows')}</th>
            <th data-number>{t('data.p50')}</th>
            <th data-number>{t('data.p95')}</th>
            <th data-number title={t('data.actorStartHint')}>
              {t('data.actorStart')}
            </th>
            <th data-number title={t('data.coldHint')}>
              {t('data.cold')}
            </th>
            <th data-number title={t('data.slowestHint')}>
              {t('data.slowest')}
            </th>
            <th data-number>{t('data.output')}</th>
            <th data-number title={t('data.largestHint')}>
              {t('data.largest')}
            </th>
          </tr>
        </thead>
        <tbody>
          {withTasks.map((operator) => (
            <OperatorRow key={operator.operator_id} dataset={dataset} operator={operator} all={all} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function OperatorRow({
  dataset,
  operator,
  all,
}: {
  dataset: DatasetAnswer;
  operator: OperatorDetail;
  all: number;
}) {
  const [url] = useSessionUrl();
  const { tasks } = operator;
  if (tasks === null) return null;
  const filters = { ...tasksOf(operator), ...(dataset.job_id && { job_id: dataset.job_id }) };
  const number = total(tasks.states);
  const failed = tasks.states.FAILED ?? 0;
  return (
    <tr data-testid="operator-row">
      <td>
        <Link to={toView(url, 'tasks', filters)} className={words.link}>
          {breakable(operator.name)}
        </Link>
      </td>
      <td>
        <span className={css.share}>
          <ShareBar share={all > 0 ? (tasks.time_ns ?? 0) / all : 0} />
        </span>
      </td>
      <td data-number>{count(number)}</td>
      <td data-number>
        {failed > 0 ? (
          <Link to={toView(url, 'failures', filters)} className={words.link}>
            {count(failed)}
          </Link>
        ) : (
          <span className={words.dim}>0</span>
        )}
      </td>
      <td data-number>{count(operator.total_rows)}</td>
      <td data-number>
        <Duration ns={tasks.p50_ns} />
      </td>
      <td data-number>
        <Duration ns={tasks.p95_ns} />
      </td>
      <td data-number>{operator.actors > 0 ? <Duration ns={operator.actor_start_ns} /> : <Dash />}</td>
      <td data-number>
        <Duration ns={Math.max(0, (tasks.time_ns ?? 0) - (tasks.steady_ns ?? 0))} />
      </td>
      <td data-number>
        <Duration ns={tasks.max_ns} /> <Uneven ratio={skew(tasks.max_ns, tasks.p50_ns)} />
      </td>
      <td data-number>{tasks.output_bytes === null ? <Dash /> : bytes(tasks.output_bytes)}</td>
      <td data-number>
        {tasks.max_bytes === null ? (
          <Dash />
        ) : (
          <>
            {bytes(tasks.max_bytes)} <Uneven ratio={skew(tasks.max_bytes, tasks.p50_bytes)} />
          </>
        )}
      </td>
    </tr>
  );
}

/** How many times the median the maximum is. */
function Uneven({ ratio }: { ratio: number | null }) {
  if (ratio === null) return null;
  return (
    <span className={`${words.num} ${words.dim}`} data-bad={ratio >= UNEVEN_RATIO || undefined}>
      {ratio < 10 ? ratio.toFixed(1) : count(Math.round(ratio))}×
    </span>
  );
}
