import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { TuneExperimentAnswer } from '../../api/schema';
import { count, short } from '../../base/format';
import { Plot, rangeOf } from '../../ui/Plot';
import words from '../../ui/theme/words.module.css';
import { type Pointing, rank, roleOf } from './trials';
import css from './tune.module.css';

const WIDTH = 1000;
const HEIGHT = 220;

/**
 * A metric over the iterations, with a line per trial. The best trial, the chosen one and the hovered one are
 * in front.
 */
export function MetricLines({ experiment, ...pointing }: { experiment: TuneExperimentAnswer } & Pointing) {
  const { t } = useTranslation();
  const { lines, shown_metric: metric } = experiment;
  if (experiment.metrics.length === 0) return <p className={words.dim}>{t('tune.noResults')}</p>;
  if (metric === null) return <p className={words.dim}>{t('tune.noMetric')}</p>;
  if (lines.length === 0) return <p className={words.dim}>{t('tune.noLines', { metric })}</p>;
  return <Lines experiment={experiment} metric={metric} {...pointing} />;
}

/** What to draw: the range of values, and the points of each trial's line. */
function drawing({ lines, iterations }: TuneExperimentAnswer) {
  const values = lines.flatMap(({ points }) => points.map(([, value]) => value));
  const { y, ...range } = rangeOf(values, HEIGHT);
  const x = (iteration: number) => ((iteration - 1) * WIDTH) / (Math.max(iterations, 2) - 1);
  const paths = new Map<string, string>();
  for (const { trial_id, points } of lines) {
    const drawn = points.map(([at, value]) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`);
    const [only] = points;
    // A single result is drawn as a short stroke.
    if (points.length === 1 && only !== undefined)
      drawn.push(`${(x(only[0]) + 6).toFixed(1)},${y(only[1]).toFixed(1)}`);
    paths.set(trial_id, drawn.join(' '));
  }
  return { range, paths };
}

function Lines({
  experiment,
  metric,
  ...pointing
}: { experiment: TuneExperimentAnswer; metric: string } & Pointing) {
  const { t } = useTranslation();
  const { lines, shown_best_trial_id: best } = experiment;
  const { range, paths } = useMemo(() => drawing(experiment), [experiment]);
  const role = (id: string) => roleOf(id, best, pointing);
  const inFront = [...lines].sort((a, b) => rank(role(a.trial_id)) - rank(role(b.trial_id)));
  const named = (id: string | null | undefined) => lines.find((one) => one.trial_id === id);
  return (
    <div>
      <Plot
        range={range}
        width={WIDTH}
        height={HEIGHT}
        label={t('tune.linesLabel', { metric, n: lines.length })}
        ends={['1', t('tune.iteration'), count(experiment.iterations)]}
        testId="tune-lines"
      >
        {inFront.map(({ trial_id: id, points }) => {
          const path = paths.get(id);
          return (
            // biome-ignore lint/a11y/noStaticElementInteractions: the table below does the same by keyboard.
            <g
              key={id}
              className={css.line}
              data-role={role(id)}
              data-testid="tune-line"
              onPointerEnter={() => pointing.onHover(id)}
              onPointerLeave={() => pointing.onHover(undefined)}
              onClick={() => pointing.onChoose(id)}
            >
              <title>{`${id}: ${metric} ${short(points.at(-1)?.[1] ?? 0)}`}</title>
              <polyline points={path} />
              <polyline className={css.target} points={path} />
            </g>
          );
        })}
      </Plot>
      <p className={css.legend}>
        {(
          [
            ['best', best],
            ['chosen', pointing.chosen],
            ['hovered', pointing.hovered],
          ] as const
        ).map(([kind, id]) => {
          const value = named(id)?.points.at(-1)?.[1];
          return (
            id &&
            value !== undefined && (
              <span key={kind}>
                <i data-role={kind} aria-hidden /> {t(`tune.legend.${kind}`, { id, value: short(value) })}
              </span>
            )
          );
        })}
        {experiment.lines_left_out > 0 && (
          <span className={words.dim}>
            {t(experiment.shown_mode === null ? 'tune.linesLeftOut' : 'tune.worseLeftOut', {
              n: experiment.lines_left_out,
              count: count(experiment.lines_left_out),
            })}
          </span>
        )}
        {experiment.bucket > 1 && (
          <span className={words.dim}>{t('tune.bucket', { n: experiment.bucket })}</span>
        )}
        {experiment.results_left_out > 0 && (
          <span className={words.dim}>
            {t('tune.resultsLeftOut', {
              n: experiment.results_left_out,
              count: count(experiment.results_left_out),
            })}
          </span>
        )}
      </p>
    </div>
  );
}
