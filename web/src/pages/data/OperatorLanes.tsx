import { useTranslation } from 'react-i18next';
import type { DatasetAnswer } from '../../api/schema';
import { duration } from '../../base/format';
import { toView } from '../../base/url';
import { Link } from '../../ui/Link';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import css from './data.module.css';
import { tasksOf } from './dataset';

const HEIGHT = 28;

/** A lane for each operator with its number of running tasks over time, all on one time scale. */
export function OperatorLanes({ dataset }: { dataset: DatasetAnswer }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const lanes = dataset.operators.filter((one) => one.running.length > 0);
  if (lanes.length === 0) return <p className={words.dim}>{t('data.noTasks')}</p>;
  const buckets = lanes[0]?.running.length ?? 0;
  const job = dataset.job_id === null ? {} : { job_id: dataset.job_id };
  return (
    <div className={css.lanes} data-testid="operator-lanes">
      {lanes.map((operator) => {
        const most = Math.max(1, ...operator.running);
        const text = t('data.lane', { name: operator.name, n: most.toFixed(most < 10 ? 1 : 0) });
        return (
          <div key={operator.operator_id} className={css.lane} data-testid="operator-lane">
            <Link
              to={toView(url, 'gantt', { ...tasksOf(operator), ...job })}
              className={words.link}
              title={operator.name}
            >
              {operator.name}
            </Link>
            <svg
              viewBox={`0 0 ${buckets} ${HEIGHT}`}
              preserveAspectRatio="none"
              role="img"
              aria-label={text}
              data-slowest={operator.name === dataset.bottleneck || undefined}
            >
              <title>{text}</title>
              <path d={area(operator.running, most)} />
            </svg>
            <span className={`${words.num} ${words.dim}`}>
              {t('data.atOnce', { n: operator.tasks?.at_once ?? 0 })}
            </span>
          </div>
        );
      })}
      <div className={css.scale}>
        <span>0</span>
        <span>{duration(buckets * (dataset.bucket_ns ?? 0))}</span>
      </div>
    </div>
  );
}

function area(running: readonly number[], most: number): string {
  const y = (value: number) => (HEIGHT - (value * (HEIGHT - 2)) / most).toFixed(1);
  return `M0,${HEIGHT}${running.map((value, at) => `L${at},${y(value)}h1`).join('')}V${HEIGHT}Z`;
}
