import { useTranslation } from 'react-i18next';
import type { TuneExperimentAnswer, TuneTrial } from '../../api/schema';
import { count, duration, elapsedNs, headline, short } from '../../base/format';
import { toFlow, toItem, toView, withFilter } from '../../base/url';
import { CopyId } from '../../ui/CopyId';
import { Drawer, Field, Fields, Section } from '../../ui/Drawer';
import { ItemLink } from '../../ui/ItemLink';
import { Link } from '../../ui/Link';
import { LogPanel } from '../../ui/logs/LogPanel';
import { Time } from '../../ui/Time';
import library from '../../ui/theme/library.module.css';
import pairs from '../../ui/theme/pairs.module.css';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { TrialState } from './TrialTable';
import type { Plain } from './trials';
import css from './tune.module.css';

/** A trial in full: its error, parameters and last result, with links to its actor, log and lane. */
export function TrialDrawer(props: {
  experiment: TuneExperimentAnswer;
  trial: TuneTrial;
  onClose: () => void;
}) {
  const { experiment, trial, onClose } = props;
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const actor = trial.actor_id;
  return (
    <Drawer
      testId="tune-drawer"
      title={t('tune.trialNamed', { id: trial.trial_id })}
      subtitle={<TrialState trial={trial} />}
      onClose={onClose}
    >
      {actor !== null && (
        <p className={css.ways}>
          <Link to={toItem(url, 'actors', actor)} testId="tune-actor">
            {t('tune.actor')}
          </Link>
          <Link
            to={withFilter(toFlow({ ...url, filters: {}, settings: {} }, 'gantt'), 'actor_id', actor)}
            testId="tune-gantt"
          >
            {t('tune.lane')}
          </Link>
          <Link to={toView(url, 'tasks', { actor_id: actor })}>{t('nav.tasks')}</Link>
        </p>
      )}
      {trial.error !== null && (
        <Section title={t(trial.state === 'ERROR' ? 'tune.error' : 'tune.lastError')}>
          <p className={css.bad}>{headline(trial.error)}</p>
          <pre
            className={`${words.pre} ${css.error}`}
            data-testid="tune-error"
            // biome-ignore lint/a11y/noNoninteractiveTabindex: the region must scroll by keyboard.
            tabIndex={0}
          >
            {trial.error}
          </pre>
        </Section>
      )}
      <Section title={t('tune.parameters')}>
        <Pairs of={trial.parameters} />
      </Section>
      <Section title={t('tune.lastResult')}>
        {Object.keys(trial.metrics).length === 0 ? (
          <p className={words.dim}>{t('tune.noResult')}</p>
        ) : (
          <Pairs of={trial.metrics} />
        )}
      </Section>
      <Section title={t('entity.fields')}>
        <Fields>
          <Field name={t('tune.iterations')} hint="iterations">
            {count(trial.iterations)}
          </Field>
          {experiment.shown_metric !== null && trial.best_value !== null && (
            <Field name={t('tune.bestValue')} hint="best_value">
              {t('tune.bestAt', {
                metric: experiment.shown_metric,
                value: short(trial.best_value),
                at: trial.best_iteration,
              })}
            </Field>
          )}
          <Field name={t('tune.checkpoints')} hint="checkpoints">
            {count(trial.checkpoints)}
          </Field>
          <Field name={t('tune.failureCount')} hint="failures">
            {count(trial.failures)}
          </Field>
          {trial.end_reason !== null && trial.state === 'TERMINATED' && (
            <Field name={t('tune.why')} hint="end_reason">
              {t(`tune.reason.${trial.end_reason}`)}
            </Field>
          )}
          <Field name={t('libraryItem.started')} hint="start_ns">
            <Time ns={trial.start_ns} full />
          </Field>
          <Field name={t('libraryItem.took')} hint="end_ns">
            {duration(elapsedNs(trial))}
          </Field>
          <Field name={t('tune.trained')} hint="time_total_s">
            {trial.time_total_s === null ? '–' : duration(trial.time_total_s * 1e9)}
          </Field>
          <Field name={t('tune.node')} hint="node_id">
            <ItemLink view="nodes" id={trial.node_id} />
          </Field>
          {trial.earlier_actor_ids.length > 0 && (
            <Field name={t('tune.earlierActors')} hint="earlier_actor_ids">
              <span className={library.ways}>
                {trial.earlier_actor_ids.map((id) => (
                  <ItemLink key={id} view="actors" id={id} />
                ))}
              </span>
            </Field>
          )}
          {trial.path !== null && (
            <Field name={t('tune.path')} hint="path">
              <CopyId id={trial.path} full />
            </Field>
          )}
        </Fields>
      </Section>
      {actor !== null && (
        <Section title={t('nav.logs')} testId="tune-logs">
          <LogPanel of={{ actor_id: actor }} />
        </Section>
      )}
    </Drawer>
  );
}

function Pairs({ of }: { of: Record<string, Plain> }) {
  return (
    <span className={pairs.pairs}>
      {Object.entries(of).map(([name, value]) => (
        <span key={name} className={pairs.pair}>
          {name} = {short(value)}
        </span>
      ))}
    </span>
  );
}
