import { useTranslation } from 'react-i18next';
import { useAnswer } from '../../api/queries';
import type { DatasetAnswer } from '../../api/schema';
import { count, duration, percent } from '../../base/format';
import { toView } from '../../base/url';
import { Section } from '../../ui/Drawer';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { ItemState } from '../../ui/ItemState';
import { Link } from '../../ui/Link';
import library from '../../ui/theme/library.module.css';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { DatasetCharts } from './DatasetCharts';
import css from './data.module.css';
import { leftNs } from './dataset';
import { OperatorFlow } from './OperatorFlow';
import { OperatorLanes } from './OperatorLanes';
import { OperatorTable } from './OperatorTable';
import { Warnings } from './Warnings';

/** A dataset: its operators, bottlenecks, tasks, and metrics over time. */
export function DatasetDetails({ id }: { id: string }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const { data, error } = useAnswer('/data/{dataset_id}', { dataset_id: id, session: url.session });
  if (data === undefined) return error === null ? null : <ErrorPanel error={error} />;
  return (
    <div data-testid="dataset-details">
      <Head dataset={data} />
      <Section title={t('data.operators')} right={<Pace dataset={data} />}>
        <OperatorFlow dataset={data} />
      </Section>
      {data.warnings.length > 0 && (
        <Section title={t('data.warnings')} right={t('data.warningsHint')}>
          <Warnings dataset={data} />
        </Section>
      )}
      <Section title={t('data.lanes')}>
        <OperatorLanes dataset={data} />
      </Section>
      <Section title={t('data.tasks')}>
        <OperatorTable dataset={data} />
      </Section>
      <Section title={t('data.overTime')}>
        <DatasetCharts dataset={data} />
      </Section>
    </div>
  );
}

function Head({ dataset }: { dataset: DatasetAnswer }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const left = leftNs(dataset);
  return (
    <header className={library.head}>
      <h2 className={library.name} data-testid="dataset-name">
        {dataset.name}
      </h2>
      <ItemState state={dataset.state} />
      {dataset.end_known_by !== null && (
        <span className={words.dim}>{t(`libraryItem.endKnownBy.${dataset.end_known_by}`)}</span>
      )}
      {left !== null && <span className={words.dim}>{t('data.left', { time: duration(left) })}</span>}
      {dataset.job_id !== null && (
        <span className={library.ways}>
          {(['gantt', 'logical', 'failures', 'events'] as const).map((view) => (
            <Link key={view} to={toView(url, view, { job_id: dataset.job_id ?? '' })} className={words.link}>
              {t(`nav.${view}`)}
            </Link>
          ))}
        </span>
      )}
    </header>
  );
}

/** A sentence about the slowest operator, which determines the pace of the dataset. */
function Pace({ dataset }: { dataset: DatasetAnswer }) {
  const { t } = useTranslation();
  const slowest = dataset.operators.find((one) => one.name === dataset.bottleneck);
  if (slowest === undefined) return null;
  const all = dataset.operators.reduce((sum, one) => sum + (one.tasks?.steady_ns ?? 0), 0);
  const waiting = slowest.queued_blocks ?? 0;
  return (
    <span className={css.pace} data-testid="bottleneck">
      {t('data.pace', {
        name: slowest.name,
        share: percent(all > 0 ? (slowest.tasks?.steady_ns ?? 0) / all : 0),
      })}
      {waiting > 0 && ` ${t('data.paceQueue', { n: waiting, count: count(waiting) })}`}
    </span>
  );
}
