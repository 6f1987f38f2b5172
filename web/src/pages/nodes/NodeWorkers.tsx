import { IconFileText, IconServer2, IconStack2 } from '@tabler/icons-react';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { usersWorkers } from '../../api/nodes';
import type { MeasuredWorker, NodeDetail } from '../../api/schema';
import { bytes, count, shapeText, time } from '../../base/format';
import { toItem, toView } from '../../base/url';
import { Dash } from '../../ui/Dash';
import { EmptyState } from '../../ui/EmptyState';
import { ItemLink } from '../../ui/ItemLink';
import { ItemState } from '../../ui/ItemState';
import { Link } from '../../ui/Link';
import { percentText } from '../../ui/Meter';
import { Running } from '../../ui/Running';
import type { Column } from '../../ui/table/columns';
import { DataTable } from '../../ui/table/DataTable';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import css from './NodeWorkers.module.css';
import shared from './nodes.module.css';

const MAX_ROWS = 16;
const keyOf = (worker: MeasuredWorker) => worker.worker_id;

/** The workers of a node with their current work and usage. */
export function NodeWorkers({ node }: { node: NodeDetail }) {
  const [url] = useSessionUrl();
  const { t, i18n } = useTranslation();
  const gpus = node.gpus.length > 0;
  const isDead = node.state === 'DEAD';
  const columns = useMemo<Column<MeasuredWorker>[]>(
    () => [
      {
        id: 'pid',
        header: t('nodes.pid'),
        width: 64,
        align: 'right',
        cell: (one) => <span className={words.num}>{one.pid ?? '–'}</span>,
      },
      {
        id: 'kind',
        header: t('nodes.kind'),
        width: 78,
        cell: (one) =>
          i18n.exists(`nodes.kinds.${one.kind}`)
            ? t(`nodes.kinds.${one.kind}` as 'nodes.kinds.WORKER')
            : one.kind,
      },
      {
        id: 'runs',
        header: t('nodes.runs'),
        width: 240,
        grow: true,
        cell: (one) => <Running worker={one} />,
      },
      {
        id: 'cpu',
        field: 'cpu_percent',
        header: t('nodes.cpu'),
        width: 66,
        align: 'right',
        cell: (one) => <span className={words.num}>{percentText(one.cpu_percent)}</span>,
      },
      {
        id: 'memory',
        field: 'memory_bytes',
        header: t('nodes.memory'),
        width: 86,
        align: 'right',
        cell: (one) => <span className={words.num}>{bytes(one.memory_bytes)}</span>,
      },
      ...(gpus
        ? [
            {
              id: 'gpu_memory',
              field: 'gpu_memory_bytes',
              header: t('nodes.gpu_memory'),
              width: 92,
              align: 'right',
              cell: (one: MeasuredWorker) => (
                <span className={words.num}>{one.gpu_memory_bytes ? bytes(one.gpu_memory_bytes) : '–'}</span>
              ),
            } satisfies Column<MeasuredWorker>,
          ]
        : []),
      {
        id: 'actor',
        header: t('nodes.actor'),
        width: 112,
        cell: (one) =>
          one.actor_id === null ? (
            <Dash />
          ) : (
            <Link
              to={toItem(url, 'actors', one.actor_id)}
              title={[one.actor_name, one.actor_state, one.actor_id].filter(Boolean).join('\n')}
              className={words.ellipsis}
            >
              {one.actor_state !== null && one.actor_state !== 'ALIVE' ? (
                <ItemState state={one.actor_state} label={one.actor_class ?? undefined} />
              ) : (
                (one.actor_class ?? one.actor_id.slice(0, 8))
              )}
            </Link>
          ),
      },
      {
        id: 'go',
        header: t('nodes.go'),
        width: 70,
        cell: (one) => (
          <span className={css.links}>
            <Link
              to={toView(url, 'stack', { worker_id: one.worker_id })}
              title={t('nodes.stack')}
              label={t('nodes.stack')}
            >
              <IconStack2 size={15} aria-hidden />
            </Link>
            <Link
              to={toItem(url, 'workers', one.worker_id)}
              title={t('nodes.workerOf')}
              label={t('nodes.workerOf')}
            >
              <IconFileText size={15} aria-hidden />
            </Link>
          </span>
        ),
      },
      {
        id: 'holds',
        field: 'reserved',
        header: t('nodes.holds'),
        width: 96,
        cell: (one) =>
          Object.keys(one.reserved).length === 0 ? (
            <Dash />
          ) : (
            <span className={words.ellipsis} title={shapeText(one.reserved)}>
              {shapeText(one.reserved)}
            </span>
          ),
      },
      {
        id: 'job',
        header: t('nodes.job'),
        width: 104,
        cell: (one) => <ItemLink view="jobs" id={one.job_id} />,
      },
    ],
    [t, i18n, url, gpus],
  );
  const { workers, total } = useMemo(() => usersWorkers(node), [node]);
  if (workers.length === 0)
    return (
      <div className={shared.empty}>
        <EmptyState icon={<IconServer2 size={24} />} title={t('nodes.noWorkers')}>
          <Link to={toView(url, 'workers', { node_id: node.node_id })} className={words.link}>
            {t('nodes.pastWorkers')}
          </Link>
        </EmptyState>
      </div>
    );
  return (
    <>
      {isDead && (
        <p className={`${words.dim} ${css.note}`}>{t('nodes.workersAt', { time: time(node.end_ns) })}</p>
      )}
      <div className={css.table}>
        <DataTable
          testId="node-workers"
          rowTestId="node-worker"
          label={t('nodes.workers')}
          columns={columns}
          maxRows={MAX_ROWS}
          rows={workers}
          keyOf={keyOf}
          empty={null}
        />
      </div>
      {total > workers.length && (
        <p className={css.note}>
          <Link to={toView(url, 'workers', { node_id: node.node_id })}>
            {t('nodes.workersLeftOut', { n: count(total - workers.length) })}
          </Link>
        </p>
      )}
    </>
  );
}
