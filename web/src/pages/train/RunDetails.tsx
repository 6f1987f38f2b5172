import { keepPreviousData } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAnswer } from '../../api/queries';
import type { TrainRunAnswer } from '../../api/schema';
import { count, duration } from '../../base/format';
import { REPORT } from '../../base/report';
import { toItem, toView, withSettings } from '../../base/url';
import { ChartsLeftOut } from '../../ui/charts/WhereMeasured';
import { Section } from '../../ui/Drawer';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { ItemState } from '../../ui/ItemState';
import { Link } from '../../ui/Link';
import { Time } from '../../ui/Time';
import library from '../../ui/theme/library.module.css';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { AttemptLane } from './AttemptLane';
import { MetricLines } from './MetricLines';
import { RunCharts } from './RunCharts';
import { StepTimes, Stragglers } from './StepTimes';
import css from './train.module.css';
import { WorkerTable } from './WorkerTable';

/** A run: the reason for its state, its attempts, and the workers and reports of one attempt. */
export function RunDetails({ id }: { id: string }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const [attempt, setAttempt] = useState<string>();
  const { data, error } = useAnswer(
    '/train/{run_id}',
    { run_id: id, session: url.session, attempt },
    { placeholderData: keepPreviousData },
  );
  if (data === undefined) return error === null ? null : <ErrorPanel error={error} />;
  const at = data.attempts.findIndex((one) => one.attempt_id === data.attempt_id);
  return (
    <div data-testid="train-details">
      <Head run={data} />
      <Section title={t('train.attempts')} right={data.attempts.length > 1 && t('train.attemptsHint')}>
        <AttemptLane run={data} onChoose={setAttempt} />
      </Section>
      {at >= 0 && (
        <Section
          title={t('train.workersOf', { n: at + 1 })}
          right={data.cells.length > 0 && <Stragglers run={data} />}
        >
          <WorkerTable run={data} />
        </Section>
      )}
      {data.steps === 0 ? (
        <Section title={t('train.metrics')}>
          <p className={words.dim}>{t('train.noReports')}</p>
        </Section>
      ) : (
        <>
          <Section title={t('train.metrics')} right={t('train.bySteps')}>
            <MetricLines run={data} />
          </Section>
          <Section title={t('train.steps')} right={t('train.stepsHint')}>
            <StepTimes run={data} />
          </Section>
          <Section title={t('train.checkpoints')}>
            <Checkpoints run={data} />
          </Section>
        </>
      )}
      <Section title={t('train.overTime')}>
        {REPORT === null ? <RunCharts id={id} /> : <ChartsLeftOut />}
      </Section>
      <Section title={t('train.settings')}>
        <Settings settings={data.settings} />
      </Section>
    </div>
  );
}

function Head({ run }: { run: TrainRunAnswer }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  return (
    <>
      <header className={library.head}>
        <h2 className={library.name} data-testid="train-name">
          {run.name ?? run.run_id}
        </h2>
        <ItemState state={run.state} />
        {run.end_known_by !== null && (
          <span className={words.dim}>{t(`libraryItem.endKnownBy.${run.end_known_by}`)}</span>
        )}
        <span className={library.ways}>
          {run.controller_actor_id !== null && (
            <Link to={toItem(url, 'actors', run.controller_actor_id)}>{t('train.controller')}</Link>
          )}
          {run.controller_log_file !== null && run.controller_node_id !== null && (
            <Link
              to={withSettings(toView(url, 'logs'), {
                node: run.controller_node_id,
                file: run.controller_log_file,
              })}
            >
              {t('train.log')}
            </Link>
          )}
          {run.job_id !== null &&
            (['gantt', 'failures', 'events'] as const).map((view) => (
              <Link key={view} to={toView(url, view, { job_id: run.job_id ?? '' })}>
                {t(`nav.${view}`)}
              </Link>
            ))}
        </span>
      </header>
      {run.status_detail !== null && (
        <pre className={css.detail} data-testid="train-detail">
          {run.status_detail}
        </pre>
      )}
    </>
  );
}

function Checkpoints({ run }: { run: TrainRunAnswer }) {
  const { t } = useTranslation();
  if (run.checkpoints.length === 0) return <p className={words.dim}>{t('train.noCheckpoints')}</p>;
  return (
    <div className={library.scroll}>
      <table className={library.table} data-testid="train-checkpoints">
        <thead>
          <tr>
            <th data-number>{t('train.stepName')}</th>
            <th>{t('train.path')}</th>
            <th data-number>{t('train.ranks')}</th>
            <th data-number>{t('train.blocked')}</th>
            <th>{t('train.time')}</th>
          </tr>
        </thead>
        <tbody>
          {run.checkpoints.map((one) => (
            <tr key={one.step}>
              <td data-number>{count(one.step)}</td>
              <td>
                <code>{one.path}</code>
              </td>
              <td data-number>{count(one.ranks)}</td>
              <td data-number>{duration(one.report_ns)}</td>
              <td>
                <Time ns={one.time_ns} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Ray Train's settings, folded: JSON as Ray reports it. */
function Settings({ settings }: { settings: Record<string, string> }) {
  const { t } = useTranslation();
  const names = Object.keys(settings);
  if (names.length === 0) return <p className={words.dim}>{t('train.noSettings')}</p>;
  return (
    <div data-testid="train-settings">
      {names.map((name) => (
        <details key={name} className={css.setting}>
          <summary>{t(`train.setting.${name}` as 'train.setting.run_config')}</summary>
          <pre>{pretty(settings[name] ?? '')}</pre>
        </details>
      ))}
    </div>
  );
}

function pretty(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}
