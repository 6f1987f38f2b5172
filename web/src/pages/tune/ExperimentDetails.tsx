import { NativeSelect, SegmentedControl } from '@mantine/core';
import { keepPreviousData } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAnswer } from '../../api/queries';
import type { TuneExperimentAnswer } from '../../api/schema';
import { count, short } from '../../base/format';
import { toView, withSettings } from '../../base/url';
import { Section } from '../../ui/Drawer';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { ItemState } from '../../ui/ItemState';
import { Link } from '../../ui/Link';
import library from '../../ui/theme/library.module.css';
import pairs from '../../ui/theme/pairs.module.css';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { MetricLines } from './MetricLines';
import { ParallelCoordinates } from './ParallelCoordinates';
import { TrialDrawer } from './TrialDrawer';
import { TrialTable } from './TrialTable';
import type { Pointing } from './trials';
import css from './tune.module.css';

const STATES = ['TERMINATED', 'ERROR', 'CUT_OFF', 'RUNNING', 'PAUSED', 'PENDING'] as const;

/** An experiment: the outcome of its trials, the best trial, a metric of all trials, and a table of them. */
export function ExperimentDetails({ id, trialId }: { id: string; trialId: string }) {
  const [url, change] = useSessionUrl();
  const { t } = useTranslation();
  const [hovered, setHovered] = useState<string>();
  const { by: metric, mode } = url.settings ?? {};
  const { data, error } = useAnswer(
    '/tune/{experiment_id}',
    {
      experiment_id: id,
      session: url.session,
      metric,
      mode: mode === 'min' || mode === 'max' ? mode : undefined,
    },
    { placeholderData: keepPreviousData },
  );
  if (data === undefined) return error === null ? null : <ErrorPanel error={error} />;
  const choose = (chosen: string) =>
    change((before) => ({ ...before, item: chosen === '' ? id : `${id}/${chosen}` }));
  const pointing: Pointing = { hovered, chosen: trialId, onHover: setHovered, onChoose: choose };
  const trial = data.trials.find((one) => one.trial_id === trialId);
  return (
    <div data-testid="tune-details">
      <Head experiment={data} />
      <Summary experiment={data} onChoose={choose} />
      <Section title={t('tune.overIterations')} right={<MetricChoice experiment={data} />}>
        <MetricLines experiment={data} {...pointing} />
      </Section>
      <Section title={t('tune.parallel')} right={t('tune.parallelHint')}>
        <ParallelCoordinates experiment={data} {...pointing} />
      </Section>
      <Section title={t('tune.trials')}>
        <TrialTable experiment={data} {...pointing} />
      </Section>
      {trial !== undefined && (
        <TrialDrawer experiment={data} trial={trial} onClose={() => choose('')} key={trial.trial_id} />
      )}
    </div>
  );
}

function Head({ experiment }: { experiment: TuneExperimentAnswer }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  return (
    <header className={library.head}>
      <h2 className={library.name} data-testid="tune-name">
        {experiment.name ?? experiment.experiment_id}
      </h2>
      <ItemState state={experiment.state} />
      {experiment.end_known_by !== null && (
        <span className={words.dim}>{t(`libraryItem.endKnownBy.${experiment.end_known_by}`)}</span>
      )}
      {experiment.is_restored &&
        (experiment.restored_from === null ? (
          <span className={words.dim}>{t('tune.restored')}</span>
        ) : (
          <Link to={{ ...url, item: experiment.restored_from }} testId="tune-restored-from">
            {t('tune.restoredFrom')}
          </Link>
        ))}
      {experiment.job_id !== null && (
        <span className={library.ways}>
          {(['gantt', 'actors', 'failures', 'events'] as const).map((view) => (
            <Link key={view} to={toView(url, view, { job_id: experiment.job_id ?? '' })}>
              {t(`nav.${view}`)}
            </Link>
          ))}
        </span>
      )}
    </header>
  );
}

/**
 * A sentence about the outcome of the trials, the best trial with its parameters, and facts such as the
 * search algorithm.
 */
function Summary({
  experiment,
  onChoose,
}: {
  experiment: TuneExperimentAnswer;
  onChoose: (trialId: string) => void;
}) {
  const { t } = useTranslation();
  const all = Math.max(experiment.trial_count, experiment.num_samples ?? 0);
  const parts = STATES.flatMap((state) => {
    const number = experiment.trial_states[state] ?? 0;
    if (number === 0) return [];
    const stateText = t(`tune.states.${state}`, { count: count(number) });
    const isEarly = state === 'TERMINATED' && experiment.stopped_early > 0;
    return [
      isEarly ? `${stateText}${t('tune.early', { count: count(experiment.stopped_early) })}` : stateText,
    ];
  });
  const best = experiment.trials.find((one) => one.trial_id === experiment.shown_best_trial_id);
  const facts = [
    [t('tune.scheduler'), experiment.scheduler],
    [t('tune.search'), experiment.search_algorithm],
    [t('tune.path'), experiment.path],
  ];
  return (
    <div className={css.summary}>
      <p data-testid="tune-summary">
        {t('tune.summary', {
          started: count(experiment.trial_count),
          all: count(all),
          parts: parts.join(t('tune.and')),
        })}
      </p>
      {best !== undefined && best.value !== null && (
        <p className={css.best} data-testid="tune-best">
          <span>
            {t(experiment.end_ns === null ? 'tune.bestSoFar' : 'tune.bestOfAll', {
              metric: experiment.shown_metric,
              value: short(best.value),
            })}{' '}
            <button type="button" className={words.link} onClick={() => onChoose(best.trial_id)}>
              {best.trial_id}
            </button>
          </span>
          <span className={pairs.pairs}>
            {Object.entries(best.parameters).map(([name, value]) => (
              <span key={name} className={pairs.pair}>
                {name} = {short(value)}
              </span>
            ))}
          </span>
        </p>
      )}
      <p className={css.facts}>
        {facts.map(
          ([name, value]) =>
            value !== null && (
              <span key={name}>
                <span className={words.dim}>{name}</span> <span className={words.breaks}>{value}</span>
              </span>
            ),
        )}
      </p>
    </div>
  );
}

/** A choice of the metric by which trials are compared, and of whether less or more of it is better. */
function MetricChoice({ experiment }: { experiment: TuneExperimentAnswer }) {
  const [, change] = useSessionUrl();
  const { t } = useTranslation();
  const { metric, mode, shown_metric, shown_mode } = experiment;
  if (experiment.metrics.length === 0) return null;
  const names = [...new Set([...(shown_metric === null ? [] : [shown_metric]), ...experiment.metrics])];
  const set = (by: string | undefined, better: string | undefined) =>
    change((before) => withSettings(before, { by, mode: better }));
  return (
    <span className={css.choice}>
      <NativeSelect
        size="xs"
        aria-label={t('tune.metric')}
        data-testid="tune-metric"
        value={shown_metric ?? ''}
        onChange={({ currentTarget: { value } }) => set(value === metric ? undefined : value, undefined)}
        data={[
          ...(shown_metric === null ? [{ value: '', label: t('tune.chooseMetric') }] : []),
          ...names.map((name) => ({ value: name, label: name })),
        ]}
      />
      {shown_metric !== null && (
        <SegmentedControl
          size="xs"
          aria-label={t('tune.better')}
          data-testid="tune-mode"
          value={shown_mode ?? ''}
          onChange={(value) =>
            set(
              shown_metric === metric ? undefined : shown_metric,
              shown_metric === metric && value === mode ? undefined : value,
            )
          }
          data={[
            { value: 'min', label: t('tune.mode.min') },
            { value: 'max', label: t('tune.mode.max') },
          ]}
        />
      )}
    </span>
  );
}
