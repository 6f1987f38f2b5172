import { ActionIcon, Tooltip } from '@mantine/core';
import { IconX } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { amount, bytes, count, duration, nanosBetween, shortId } from '../../base/format';
import { type SessionUrl, toFlow, toItem, toView, withFilter, withSettings } from '../../base/url';
import { CopyId } from '../../ui/CopyId';
import { Dash } from '../../ui/Dash';
import { Field, Fields, Section } from '../../ui/Drawer';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { ItemState } from '../../ui/ItemState';
import { Link } from '../../ui/Link';
import { Time } from '../../ui/Time';
import { useSessionUrl } from '../../ui/useUrl';
import css from './PhysicalPanel.module.css';
import type { NodeAnswer, PhysicalNode, PhysicalWorker } from './physical';

/** Workers of a node that are listed. */
const LISTED = 40;

/** The node or the worker that is selected, and the ways on from there. */
export function PhysicalPanel(props: {
  answer: NodeAnswer | undefined;
  error: Error | null;
  name: string;
  worker: string | undefined;
  at: number | null;
  onSelect: (worker: string | undefined) => void;
  onClose: () => void;
}) {
  const { answer, at } = props;
  const { t } = useTranslation();
  const worker = answer?.workers.find((one) => one.key === props.worker);
  const title =
    worker === undefined
      ? props.name
      : workerName(worker, t('physical.driver'), t('physical.worker'), t('internal.process'));
  return (
    <div data-testid="physical-panel">
      <div className={css.head}>
        <div>
          <h2 className="rs-break">{title}</h2>
          <div className="rs-dim">
            {worker === undefined ? (
              t('physical.node')
            ) : (
              <button
                type="button"
                className="rs-stack-jump"
                onClick={() => props.onSelect(undefined)}
                data-testid="physical-to-node"
              >
                {t('physical.onNode', { name: props.name })}
              </button>
            )}
          </div>
        </div>
        <Tooltip label={`${t('common.close')} (Esc)`}>
          <ActionIcon
            size={28}
            aria-label={t('common.close')}
            onClick={props.onClose}
            data-testid="physical-close"
          >
            <IconX size={18} />
          </ActionIcon>
        </Tooltip>
      </div>
      {props.error !== null && answer === undefined && <ErrorPanel error={props.error} />}
      {answer !== undefined &&
        (worker !== undefined ? (
          <WorkerDetail worker={worker} answer={answer} at={at} />
        ) : (
          <NodeDetail answer={answer} at={at} gone={props.worker !== undefined} onSelect={props.onSelect} />
        ))}
    </div>
  );
}

function workerName(worker: PhysicalWorker, driver: string, plain: string, internal: string): string {
  if (worker.is_internal) return [internal, worker.actor_class].filter(Boolean).join(' · ');
  if (worker.kind === 'DRIVER') return driver;
  return worker.actor_class ?? worker.attempts[0]?.name ?? plain;
}

/** What of each resource is reserved, with how much there is. */
export function Usage({ node }: { node: Pick<PhysicalNode, 'total' | 'used'> }) {
  const { t } = useTranslation();
  const names = [...new Set([...Object.keys(node.total ?? {}), ...Object.keys(node.used)])].filter(
    // Tasks hardly ever ask for it.
    (name) => name !== 'object_store_memory' || (node.used[name] ?? 0) > 0,
  );
  const rank = (name: string) => ['CPU', 'GPU', 'memory'].indexOf(name) + 1 || 9;
  names.sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  if (names.length === 0) return <p className="rs-dim">{t('physical.noResources')}</p>;
  return (
    <div className={css.usage} data-testid="physical-usage">
      {names.map((name) => {
        const total = node.total?.[name];
        const used = node.used[name] ?? 0;
        const share = total === undefined || total === 0 ? 1 : used / total;
        return (
          <div key={name} className={css.use}>
            <span className="rs-ellipsis" title={name}>
              {name}
            </span>
            <span className="rs-share-track">
              <span
                className="rs-share-bar"
                style={{
                  width: `${Math.min(1, used === 0 ? 0 : share) * 100}%`,
                  ...(share > 1.0001 && { background: 'var(--rs-tone-bad)' }),
                }}
              />
            </span>
            <span className="rs-num">
              {amount(name, used)}
              {total !== undefined && <span className="rs-dim"> / {amount(name, total)}</span>}
            </span>
          </div>
        );
      })}
    </div>
  );
}

function NodeDetail(props: {
  answer: NodeAnswer;
  at: number | null;
  gone: boolean;
  onSelect: (worker: string) => void;
}) {
  const { answer, at } = props;
  const { node } = answer;
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const labels = labelsOf(answer.labels);
  const idle = t(Object.keys(url.filters).length > 0 ? 'physical.noMatch' : 'physical.idle');
  return (
    <>
      <Section title={t('physical.reserved')}>
        <Usage node={node} />
        {!node.is_known && <p className="rs-dim">{t('physical.unknownNode')}</p>}
      </Section>
      <Section title={t('common.details')}>
        <Fields>
          <Field name="Id">
            <CopyId id={node.id} />
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
              <span className="rs-break">{value}</span>
            </Field>
          ))}
        </Fields>
        <div className="rs-stack-links">
          <Link to={toItem(url, 'nodes', node.id)} testId="physical-to-item">
            {t('physical.toNode')}
          </Link>
          <Link to={withFilter(toFlow(url, 'gantt'), 'node_id', node.id)} testId="physical-to-gantt">
            {t('physical.toGantt')}
          </Link>
          <Link to={tasksAt(withFilter(url, 'node_id', node.id), at)}>{t('physical.toTasks')}</Link>
        </div>
      </Section>
      {answer.bundles.length > 0 && (
        <Section title={t('physical.groups')}>
          <ul className="rs-plain">
            {answer.bundles.map((bundle) => (
              <li key={`${bundle.group}:${bundle.index}`} className={css.line}>
                <Link to={toItem(url, 'placement-groups', bundle.group)}>
                  {t('physical.bundle', { name: bundle.name || shortId(bundle.group), index: bundle.index })}
                </Link>
                <span className="rs-num rs-dim">{held(bundle.resources ?? {})}</span>
              </li>
            ))}
          </ul>
        </Section>
      )}
      <Section title={t('physical.workersOf', { n: count(answer.workers_total) })}>
        {props.gone && <p className="rs-dim">{t('physical.workerGone')}</p>}
        <ul className="rs-plain">
          {answer.workers.slice(0, LISTED).map((worker) => (
            <li key={worker.id}>
              <button
                type="button"
                className={css.worker}
                onClick={() => props.onSelect(worker.key)}
                data-testid="physical-worker"
              >
                <span className="rs-ellipsis">
                  {workerName(worker, t('physical.driver'), idle, t('internal.process'))}
                  {worker.running > 1 && <span className="rs-dim"> ×{count(worker.running)}</span>}
                </span>
                <span className="rs-num rs-dim">
                  {held(worker.reserved)} {t('physical.pid', { pid: worker.pid ?? '–' })}
                </span>
              </button>
            </li>
          ))}
        </ul>
        {answer.workers_total > LISTED && (
          <p className="rs-dim">{t('physical.moreWorkers', { n: count(answer.workers_total - LISTED) })}</p>
        )}
      </Section>
    </>
  );
}

function WorkerDetail(props: { worker: PhysicalWorker; answer: NodeAnswer; at: number | null }) {
  const { worker, answer, at } = props;
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const bundle = answer.bundles[worker.bundle];
  const rest = worker.running - worker.attempts.length;
  return (
    <>
      <Section title={t('physical.runs')}>
        {worker.attempts.length === 0 && (
          <p className="rs-dim">
            {t(Object.keys(url.filters).length > 0 ? 'physical.noMatch' : 'physical.runsNothing')}
          </p>
        )}
        <ul className="rs-plain">
          {worker.attempts.map((attempt) => (
            <li key={`${attempt.task_id}:${attempt.attempt}`} className={css.line}>
              <Link
                to={{ ...url, task: attempt.task_id, attempt: attempt.attempt }}
                title={attempt.task_id}
                testId="physical-task"
              >
                {attempt.name || shortId(attempt.task_id)}
              </Link>
              <span className="rs-num rs-dim">
                {attempt.is_blocked && `${t('physical.blocked')} · `}
                {at !== null && duration(Math.max(0, nanosBetween(attempt.since_ns, at) ?? 0))}
              </span>
            </li>
          ))}
        </ul>
        {rest > 0 && <p className="rs-dim">{t('physical.moreRuns', { n: count(rest) })}</p>}
      </Section>
      <Section title={t('common.details')}>
        <Fields>
          <Field name="Id">
            <CopyId id={worker.id} />
          </Field>
          <Field name="pid">{worker.pid ?? <Dash />}</Field>
          <Field name={t('physical.type')}>{worker.kind}</Field>
          {worker.actor_id !== null && (
            <>
              <Field name={t('physical.actor')}>
                <Link to={toItem(url, 'actors', worker.actor_id)} testId="physical-to-actor">
                  {worker.actor_name || worker.actor_class || shortId(worker.actor_id)}
                </Link>
              </Field>
              <Field name={t('physical.actorState')}>
                <ItemState state={worker.actor_state} />
              </Field>
            </>
          )}
          {worker.job_id !== null && (
            <Field name={t('physical.job')}>
              <Link to={toItem(url, 'jobs', worker.job_id)}>{worker.job_id}</Link>
            </Field>
          )}
          <Field name={t('physical.reserved')}>{held(worker.reserved) || <Dash />}</Field>
          {bundle !== undefined && (
            <Field name={t('physical.inBundle')}>
              <Link to={toItem(url, 'placement-groups', bundle.group)}>
                {t('physical.bundle', { name: bundle.name || shortId(bundle.group), index: bundle.index })}
              </Link>
            </Field>
          )}
          <Field name={t('physical.bytes')}>{bytes(worker.bytes)}</Field>
          <Field name={t('physical.since')}>
            {worker.start_ns === null ? <Dash /> : <Since ns={worker.start_ns} at={at} />}
          </Field>
        </Fields>
        <div className="rs-stack-links">
          <Link to={toItem(url, 'workers', worker.id)}>{t('physical.toWorker')}</Link>
          <Link to={withFilter(toFlow(url, 'gantt'), 'worker_id', worker.id)}>{t('physical.toGantt')}</Link>
          {worker.actor_id !== null && (
            <Link
              to={withSettings(withFilter(toFlow(url, 'gantt'), 'actor_id', worker.actor_id), {
                by: 'actor',
              })}
            >
              {t('physical.actorGantt')}
            </Link>
          )}
          <Link to={tasksAt(withFilter(url, 'worker_id', worker.id), at)}>{t('physical.toTasks')}</Link>
        </div>
      </Section>
    </>
  );
}

function Since({ ns, at }: { ns: number; at: number | null }) {
  return (
    <>
      <Time ns={ns} exact />{' '}
      {at !== null && at > ns && <span className="rs-dim rs-num">({duration(at - ns)})</span>}
    </>
  );
}

/** `2 CPU, 1 GPU`. */
function held(resources: Record<string, number>): string {
  return Object.entries(resources)
    .map(([name, value]) => `${amount(name, value)} ${name}`)
    .join(', ');
}

/** The tasks in flight at a time, of the filters of an address. */
function tasksAt(url: SessionUrl, at: number | null): SessionUrl {
  const times = at === null ? {} : { since_ns: String(at), until_ns: String(at) };
  return toView(url, 'tasks', { ...url.filters, ...times });
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
