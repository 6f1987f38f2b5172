import { useTranslation } from 'react-i18next';
import type { ReportedMetric, TrainRunAnswer } from '../../api/schema';
import { short } from '../../base/format';
import { Plot, rangeOf } from '../../ui/Plot';
import css from './train.module.css';

const WIDTH = 300;
const HEIGHT = 110;
const COLORS = 12;

/** A chart per reported metric, with a line per rank over the steps. */
export function MetricLines({ run }: { run: TrainRunAnswer }) {
  const { t } = useTranslation();
  const ranks = [...new Set(run.metrics.flatMap((one) => one.lines.map(({ rank }) => rank)))].sort(
    (a, b) => a - b,
  );
  const color = (rank: number) => `var(--rs-series-${ranks.indexOf(rank) % COLORS})`;
  return (
    <>
      <div className={css.charts} data-testid="train-metrics">
        {run.metrics.map((metric) => (
          <figure key={metric.name} className={css.chart} data-testid="train-metric">
            <figcaption>{metric.name}</figcaption>
            <Chart metric={metric} run={run} color={color} />
            {metric.not_finite_step !== null && (
              <p className={css.bad} data-testid="train-not-finite">
                {t('train.notFinite', { step: metric.not_finite_step, rank: metric.not_finite_rank ?? 0 })}
              </p>
            )}
          </figure>
        ))}
      </div>
      <p className={css.legend}>
        {ranks.map((rank) => (
          <span key={rank}>
            <i style={{ background: color(rank) }} aria-hidden /> {t('train.rankN', { n: rank })}
          </span>
        ))}
      </p>
    </>
  );
}

function Chart(props: { metric: ReportedMetric; run: TrainRunAnswer; color: (rank: number) => string }) {
  const { metric, run, color } = props;
  const { t } = useTranslation();
  const values = metric.lines.flatMap(({ points }) => points.map(([, value]) => value));
  const { y, ...range } = rangeOf(values, HEIGHT);
  const columns = Math.max(1, Math.ceil(run.steps / run.bucket) - 1);
  const x = (column: number) => (column * WIDTH) / columns;
  const last = (points: ReportedMetric['lines'][number]['points']) => short(points.at(-1)?.[1] ?? 0);
  const texts = metric.lines.map(({ rank, points }) => `${t('train.rankN', { n: rank })} ${last(points)}`);
  return (
    <Plot
      range={range}
      width={WIDTH}
      height={HEIGHT}
      label={`${metric.name}: ${texts.join(', ')}`}
      ends={['0', String(run.steps - 1)]}
    >
      {metric.lines.map(({ rank, points }) => (
        <g key={rank} style={{ stroke: color(rank), strokeWidth: 1.6 }}>
          <title>{`${t('train.rankN', { n: rank })}: ${last(points)}`}</title>
          <polyline
            points={points.map(([column, value]) => `${x(column)},${y(value).toFixed(1)}`).join(' ')}
          />
          {points.length === 1 && points[0] !== undefined && (
            <line x1={x(points[0][0])} x2={x(points[0][0]) + 4} y1={y(points[0][1])} y2={y(points[0][1])} />
          )}
        </g>
      ))}
    </Plot>
  );
}
