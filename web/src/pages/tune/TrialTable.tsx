import { IconArrowDown, IconArrowUp } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { TuneExperimentAnswer, TuneTrial } from '../../api/schema';
import { count, elapsedNs, short } from '../../base/format';
import { Dash } from '../../ui/Dash';
import { Duration } from '../../ui/Duration';
import { ItemLink } from '../../ui/ItemLink';
import { ItemState } from '../../ui/ItemState';
import library from '../../ui/theme/library.module.css';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { inOrder, OF_PARAMETER, type Pointing, varying } from './trials';
import css from './tune.module.css';

/** Number of rows that are shown at first and added with each click. */
const STEP = 100;

/** The trials with parameters, state and results, best first by default. */
export function TrialTable({ experiment, ...pointing }: { experiment: TuneExperimentAnswer } & Pointing) {
  const [url, change] = useSessionUrl();
  const { t } = useTranslation();
  const [most, setMost] = useState(STEP);
  const { shown_metric: metric, shown_mode: mode } = experiment;
  const parameters = varying(experiment.parameters);
  const sort = url.sort ?? (mode === null ? 'trial' : mode === 'min' ? 'value' : '-value');
  const ordered = inOrder(experiment.trials, sort);
  const more = ordered.length - most;
  const column = (field: string, name: string, isNumber = false, title?: string) => {
    const down = sort === `-${field}`;
    const up = sort === field;
    return (
      <th
        key={field}
        data-number={isNumber || undefined}
        aria-sort={down ? 'descending' : up ? 'ascending' : undefined}
      >
        <button
          type="button"
          className={css.sort}
          title={title ?? t('common.sort', { column: name })}
          onClick={() =>
            change((before) => ({ ...before, sort: up ? `-${field}` : field }), { replace: true })
          }
        >
          {name}
          {up && <IconArrowUp size={12} aria-hidden />}
          {down && <IconArrowDown size={12} aria-hidden />}
        </button>
      </th>
    );
  };
  return (
    <div className={css.trials}>
      <table className={library.table} data-testid="tune-trials">
        <thead>
          <tr>
            {column('trial', t('tune.trial'))}
            {column('state', t('libraryItem.state'))}
            {parameters.map(({ name, is_number }) => column(OF_PARAMETER + name, name, is_number))}
            {column('iterations', t('tune.iterations'), true)}
            {metric !== null && column('value', metric, true, t('tune.lastValue'))}
            {mode !== null && column('best', t('tune.bestValue'), true, t('tune.bestValueHint'))}
            {column('duration', t('libraryItem.took'), true)}
            <th>{t('tune.actor')}</th>
          </tr>
        </thead>
        <tbody>
          {ordered.slice(0, most).map((trial) => (
            <tr
              key={trial.trial_id}
              aria-current={trial.trial_id === pointing.chosen || undefined}
              data-hovered={trial.trial_id === pointing.hovered || undefined}
              data-testid="tune-trial"
              onPointerEnter={() => pointing.onHover(trial.trial_id)}
              onPointerLeave={() => pointing.onHover(undefined)}
            >
              <td>
                <button
                  type="button"
                  className={words.link}
                  onClick={() => pointing.onChoose(trial.trial_id)}
                >
                  {trial.trial_id}
                </button>
                {trial.trial_id === experiment.shown_best_trial_id && (
                  <span className={css.badge}>{t('tune.isBest')}</span>
                )}
              </td>
              <td>
                <TrialState trial={trial} />
              </td>
              {parameters.map(({ name, is_number }) => (
                <td key={name} data-number={is_number || undefined}>
                  {trial.parameters[name] === undefined ? <Dash /> : short(trial.parameters[name])}
                </td>
              ))}
              <td data-number>{count(trial.iterations)}</td>
              {metric !== null && (
                <td data-number>
                  {trial.value === null ? <NoNumber trial={trial} metric={metric} /> : short(trial.value)}
                </td>
              )}
              {mode !== null && (
                <td data-number>{trial.best_value === null ? <Dash /> : short(trial.best_value)}</td>
              )}
              <td data-number>
                <Duration ns={elapsedNs(trial)} />
              </td>
              <td>
                <ItemLink view="actors" id={trial.actor_id} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {more > 0 && (
        <button type="button" className={words.link} onClick={() => setMost(most + STEP)}>
          {t('tune.showMore', { count: count(Math.min(STEP, more)) })}
        </button>
      )}
      {experiment.trials_left_out > 0 && (
        <p className={words.dim}>
          {t('tune.trialsLeftOut', {
            n: experiment.trials_left_out,
            count: count(experiment.trials_left_out),
          })}
        </p>
      )}
    </div>
  );
}

/** The state of a trial, whether it was stopped early, and how often it failed. */
export function TrialState({ trial }: { trial: TuneTrial }) {
  const { t } = useTranslation();
  const isEarly = trial.state === 'TERMINATED' && trial.end_reason === 'early';
  return (
    <span className={css.states}>
      <ItemState state={trial.state} />
      {isEarly && <span className={words.dim}>{t('tune.stoppedEarly')}</span>}
      {trial.failures > 0 && trial.state !== 'ERROR' && (
        <span className={words.dim}>{t('tune.failures', { n: trial.failures })}</span>
      )}
    </span>
  );
}

/** Shows a value that cannot be drawn, such as `nan`. */
function NoNumber({ trial, metric }: { trial: TuneTrial; metric: string }) {
  const value = trial.metrics[metric];
  return typeof value === 'string' ? <span data-bad>{value}</span> : <Dash />;
}
