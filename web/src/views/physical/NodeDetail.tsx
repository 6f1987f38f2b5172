import { useTranslation } from 'react-i18next';
import { usersWorkers } from '../../api/nodes';
import type { NodeAnswer } from '../../api/schema';
import { count, shortId } from '../../base/format';
import { toFlow, toItem, withFilter } from '../../base/url';
import { CopyId } from '../../ui/CopyId';
import { Dash } from '../../ui/Dash';
import { Field, Fields, Section } from '../../ui/Drawer';
import { Link } from '../../ui/Link';
import { Time } from '../../ui/Time';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import panels from '../shared/panels.module.css';
import css from './NodeDetail.module.css';
import shared from './physical.module.css';
import { resourceText, workerName } from './physicalNames';
import { ReservedResources } from './ReservedResources';
import { Since } from './Since';
import { tasksAt } from './tasksAt';

/** Maximum number of workers that are listed per node. */
const MAX_LISTED = 40;

/** A node at one moment: its reservations, bundles and workers. */
export function NodeDetail(props: {
  answer: NodeAnswer;
  at: number | null;
  gone: boolean;
  onSelect: (worker: string) => void;
}) {
  const { answer, at } = props;
  const { node } = answer;
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const { workers, total } =
    url.settings?.internal === 'show'
      ? { workers: answer.workers, total: answer.workers_total }
      : usersWorkers(answer);
  const labels = labelsOf(answer.labels);
  const idle = t(Object.keys(url.filters).length > 0 ? 'physical.noMatch' : 'physical.idle');
  return (
    <>
      <Section title={t('physical.reserved')}>
        <ReservedResources node={node} />
        {!node.is_known && <p className={words.dim}>{t('physical.unknownNode')}</p>}
      </Section>
      <Section title={t('common.details')}>
        <Fields>
          <Field name="Id">
            <CopyId id={node.node_id} />
          </Field>
          <Field name="IP">{node.node_ip ?? <Dash />}</Field>
          <Field name={t('physical.since')}>
            {node.start_ns === null ? <Dash /> : <Since ns={node.start_ns} at={at} />}
          </Field>
          {answer.end_ns !== null && (
            <Field name={t('physical.until')}>
              <Time ns={answer.end_ns} exact />
            </Field>
          )}
          {labels.map(([name, value]) => (
            <Field key={name} name={name}>
              <span className={words.breaks}>{value}</span>
            </Field>
          ))}
        </Fields>
        <div className={panels.links}>
          <Link to={toItem(url, 'nodes', node.node_id)} testId="physical-to-item">
            {t('physical.toNode')}
          </Link>
          <Link to={withFilter(toFlow(url, 'gantt'), 'node_id', node.node_id)} testId="physical-to-gantt">
            {t('physical.toGantt')}
          </Link>
          <Link to={tasksAt(withFilter(url, 'node_id', node.node_id), at)}>{t('physical.toTasks')}</Link>
        </div>
      </Section>
      {answer.bundles.length > 0 && (
        <Section title={t('physical.groups')}>
          <ul>
            {answer.bundles.map((bundle) => (
              <li key={`${bundle.group}:${bundle.index}`} className={shared.line}>
                <Link to={toItem(url, 'placement-groups', bundle.group)}>
                  {t('physical.bundle', { name: bundle.name || shortId(bundle.group), index: bundle.index })}
                </Link>
                <span className={`${words.num} ${words.dim}`}>{resourceText(bundle.resources ?? {})}</span>
              </li>
            ))}
          </ul>
        </Section>
      )}
      <Section title={t('physical.workersOf', { n: count(total) })}>
        {props.gone && <p className={words.dim}>{t('physical.workerGone')}</p>}
        <ul>
          {workers.slice(0, MAX_LISTED).map((worker) => (
            <li key={worker.worker_id}>
              <button
                type="button"
                className={css.worker}
                onClick={() => props.onSelect(worker.key)}
                data-testid="physical-worker"
              >
                <span className={words.ellipsis}>
                  {workerName(t, worker, answer.scripts, idle)}
                  {worker.running > 1 && <span className={words.dim}> ×{count(worker.running)}</span>}
                </span>
                <span className={`${words.num} ${words.dim}`}>
                  {resourceText(worker.reserved)} {t('physical.pid', { pid: worker.pid ?? '–' })}
                </span>
              </button>
            </li>
          ))}
        </ul>
        {total > MAX_LISTED && (
          <p className={words.dim}>{t('physical.moreWorkers', { n: count(total - MAX_LISTED) })}</p>
        )}
      </Section>
    </>
  );
}

function labelsOf(text: string | null): [string, string][] {
  try {
    return Object.entries(JSON.parse(text ?? '{}') as Record<string, string>).filter(
      ([name]) => name !== 'ray.io/node-id',
    );
  } catch {
    return [];
  }
}
