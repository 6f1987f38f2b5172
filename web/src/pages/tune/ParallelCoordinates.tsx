import { useTranslation } from 'react-i18next';
import type { TuneExperimentAnswer } from '../../api/schema';
import { count, short } from '../../base/format';
import words from '../../ui/theme/words.module.css';
import { type Axis, axisOf, goodness, MAX_PARAMETERS, type Pointing, rank, roleOf, varying } from './trials';
import css from './tune.module.css';

const WIDTH = 1000;
const HEIGHT = 240;
/**
 * Maximum number of trials that are drawn. More would merge into a surface. The best trials are drawn or,
 * without a mode, the first ones.
 */
const MAX_LINES = 300;

/**
 * A line per trial through its parameters to its last value. It shows which parameters lead to good values.
 */
export function ParallelCoordinates({
  experiment,
  ...pointing
}: { experiment: TuneExperimentAnswer } & Pointing) {
  const { t } = useTranslation();
  const { shown_metric: metric, shown_mode: mode, shown_best_trial_id: best } = experiment;
  const parameters = varying(experiment.parameters);
  if (parameters.length === 0) return <p className={words.dim}>{t('tune.noParameters')}</p>;
  const good = goodness(experiment.trials, mode);
  const shown = [...experiment.trials]
    .sort((a, b) => (b.value === null ? -1 : good(b.value)) - (a.value === null ? -1 : good(a.value)))
    .slice(0, MAX_LINES);
  const axes: Axis[] = parameters.map(({ name }) =>
    axisOf(
      name,
      experiment.trials.flatMap((one) => {
        const value = one.parameters[name];
        return value === undefined ? [] : [value];
      }),
    ),
  );
  const values = experiment.trials.flatMap(({ value }) => (value === null ? [] : [value]));
  const last = metric === null || values.length === 0 ? undefined : axisOf(metric, values, mode === 'min');
  if (last !== undefined) axes.push(last);
  // A line needs two ends.
  if (axes.length === 1)
    return <p className={words.dim}>{t('tune.oneParameter', { name: parameters[0]?.name })}</p>;
  const x = (index: number) => (index * WIDTH) / (axes.length - 1);
  const y = (share: number) => 4 + (1 - share) * (HEIGHT - 8);
  const percent = (value: number, whole: number) => `${(100 * value) / whole}%`;
  const drawn = shown
    .map((trial) => ({ trial, role: roleOf(trial.trial_id, best, pointing) }))
    .sort((a, b) => rank(a.role) - rank(b.role) || (a.trial.value === null ? -1 : 0));
  const more = experiment.parameters.filter((one) => one.varies).length - parameters.length;
  return (
    <div>
      <div className={css.axes}>
        <div className={css.axisNames}>
          {axes.map((axis, index) => (
            <span
              key={axis.name}
              style={{ left: percent(x(index), WIDTH) }}
              data-last={axis === last || undefined}
            >
              <b title={axis.name}>{axis.name}</b>
              <span className={words.dim}>
                {axis === last && mode !== null ? t('tune.bestOnTop') : axis.isLog ? t('tune.log') : ''}
              </span>
            </span>
          ))}
        </div>
        <div className={css.axisPlot}>
          <svg
            viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
            preserveAspectRatio="none"
            role="img"
            aria-label={t('tune.parallelLabel', { n: shown.length })}
            data-testid="tune-parallel"
          >
            {drawn.map(({ trial, role }) => {
              const points = axes.flatMap((axis, index) => {
                const share = axis.at(axis === last ? trial.value : trial.parameters[axis.name]);
                return share === null ? [] : [`${x(index).toFixed(1)},${y(share).toFixed(1)}`];
              });
              const tooltip = [
                trial.trial_id,
                ...parameters.map(({ name }) => `${name}: ${short(trial.parameters[name] ?? '–')}`),
                ...(metric === null || trial.value === null ? [] : [`${metric}: ${short(trial.value)}`]),
              ];
              return (
                // biome-ignore lint/a11y/noStaticElementInteractions: the table below does the same by keyboard.
                <g
                  key={trial.trial_id}
                  className={css.line}
                  data-role={role}
                  data-empty={trial.value === null || undefined}
                  data-testid="tune-coordinates"
                  style={
                    role === undefined && trial.value !== null
                      ? { opacity: 0.2 + 0.6 * good(trial.value) ** 2 }
                      : undefined
                  }
                  onPointerEnter={() => pointing.onHover(trial.trial_id)}
                  onPointerLeave={() => pointing.onHover(undefined)}
                  onClick={() => pointing.onChoose(trial.trial_id)}
                >
                  <title>{tooltip.join('\n')}</title>
                  <polyline points={points.join(' ')} />
                  <polyline className={css.target} points={points.join(' ')} />
                </g>
              );
            })}
            {axes.map((axis, index) => (
              <line key={axis.name} className={css.axis} x1={x(index)} x2={x(index)} y1={0} y2={HEIGHT} />
            ))}
          </svg>
          {axes.map((axis, index) =>
            axis.ticks.map((tick) => (
              <span
                key={`${axis.name} ${tick.label}`}
                className={css.tick}
                title={tick.label}
                style={{ left: percent(x(index), WIDTH), top: percent(y(tick.at), HEIGHT) }}
              >
                {tick.label}
              </span>
            )),
          )}
        </div>
      </div>
      <p className={css.legend}>
        {shown.some(({ value }) => value === null) && metric !== null && (
          <span>
            <i data-role="empty" aria-hidden /> {t('tune.withoutValue', { metric })}
          </span>
        )}
        {more > 0 && (
          <span className={words.dim}>{t('tune.parametersLeftOut', { n: more, most: MAX_PARAMETERS })}</span>
        )}
        {experiment.trials.length > shown.length && (
          <span className={words.dim}>
            {t('tune.trialsNotDrawn', {
              n: experiment.trials.length - shown.length,
              count: count(experiment.trials.length - shown.length),
            })}
          </span>
        )}
      </p>
    </div>
  );
}
