import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import type { PausedTask } from '../../api/schema';
import { count, shapeText, wholeAge } from '../../base/format';
import type { Tone } from '../../base/tokens';
import { toItem } from '../../base/url';
import { Dash } from '../../ui/Dash';
import { Dot } from '../../ui/Dot';
import { ItemLink } from '../../ui/ItemLink';
import { Link } from '../../ui/Link';
import type { Column } from '../../ui/table/columns';
import words from '../../ui/theme/words.module.css';
import { useNow } from '../../ui/useNow';
import { useSessionUrl } from '../../ui/useUrl';
import { sourcePlace } from './attach';
import { PausedButtons } from './PausedButtons';
import { isLegacy, isTraced } from './traced';
import type { PausedActions } from './usePausedActions';
import { useTaskName } from './useTaskName';

const TONES = { waiting: 'waiting', stopped: 'bad', running: 'busy', gone: 'quiet' } satisfies Record<
  PausedTask['state'],
  Tone
>;

export function pausedColumns(t: TFunction, actions: PausedActions): Column<PausedTask>[] {
  return [
    {
      id: 'name',
      header: t('debugger.task'),
      width: 110,
      grow: true,
      cell: (task) => <TaskLink task={task} />,
    },
    {
      id: 'actions',
      header: t('debugger.actions'),
      width: 86,
      cell: (task) =>
        isLegacy(task) ? <LegacyAction task={task} /> : <PausedButtons task={task} actions={actions} />,
    },
    {
      id: 'place',
      value: sourcePlace,
      header: t('debugger.place'),
      width: 180,
      grow: true,
      cell: (task) => <Place task={task} />,
    },
    {
      id: 'reason',
      field: 'error',
      header: t('debugger.reason'),
      width: 140,
      grow: true,
      cell: ({ pause_id, legacy, error }) =>
        pause_id === null && legacy === null ? (
          <span className={words.dim}>{t('common.unknown')}</span>
        ) : (
          <span
            className={error === null ? words.ellipsis : `${words.ellipsis} ${words.mono}`}
            title={error ?? undefined}
          >
            {error ?? t('debugger.breakpoint')}
          </span>
        ),
    },
    {
      id: 'state',
      header: t('column.state'),
      width: 96,
      cell: ({ state }) => (
        <span className={words.state} title={t(`debugger.stateHints.${state}`)}>
          <Dot color={`var(--rs-tone-${TONES[state]})`} />
          <span className={words.ellipsis}>{t(`debugger.states.${state}`)}</span>
        </span>
      ),
    },
    {
      id: 'since',
      header: t('debugger.since'),
      width: 74,
      align: 'right',
      cell: ({ since_ns, state }) =>
        since_ns === null || state === 'gone' ? <Dash /> : <Clock from={since_ns} />,
    },
    {
      id: 'release',
      header: t('debugger.release'),
      hint: t('debugger.releaseHint'),
      width: 88,
      align: 'right',
      cell: ({ release_ns, state }) =>
        state === 'gone' ? (
          <Dash />
        ) : release_ns === null ? (
          <span className={words.dim}>{t('debugger.noLimit')}</span>
        ) : (
          <Clock to={release_ns} />
        ),
    },
    {
      id: 'waiters',
      header: t('debugger.waiters'),
      hint: t('debugger.waitersHint'),
      width: 66,
      align: 'right',
      cell: (task) => (
        <span className={words.num}>
          {isUnrecorded(task) && task.waiters === 0 ? <Dash /> : count(task.waiters)}
        </span>
      ),
    },
    {
      id: 'holds',
      field: 'resources',
      header: t('debugger.holds'),
      hint: t('debugger.holdsHint'),
      width: 84,
      cell: (task) => <Holds task={task} />,
    },
    {
      id: 'node',
      header: t('column.node'),
      width: 84,
      cell: ({ node_id }) => <ItemLink view="nodes" id={node_id} />,
    },
    { id: 'pid', header: t('column.pid'), width: 60, cell: (task) => <Process task={task} /> },
    {
      id: 'attached',
      field: 'debugger',
      header: t('debugger.attached'),
      hint: t('debugger.attachedHint'),
      width: 130,
      cell: ({ debugger: address }) =>
        address === null ? (
          <Dash />
        ) : (
          <span className={`${words.ellipsis} ${words.mono}`} title={address}>
            {address || t('common.unknown')}
          </span>
        ),
    },
  ];
}

function LegacyAction({ task }: { task: PausedTask }) {
  const { t } = useTranslation();
  if (task.state === 'gone') return <Dash />;
  return (
    <span className={`${words.mono} ${words.dim} ${words.ellipsis}`} title={t('debugger.legacyHint')}>
      ray debug
    </span>
  );
}

function TaskLink({ task }: { task: PausedTask }) {
  const [url] = useSessionUrl();
  const name = useTaskName()(task);
  if (task.task_id === null || task.attempt === null) return <span className={words.ellipsis}>{name}</span>;
  return (
    <Link
      to={{ ...url, task: task.task_id, attempt: task.attempt }}
      className={`${words.link} ${words.ellipsis}`}
      title={`${name}\n${task.task_id}`}
      testId="paused-task"
    >
      {name}
    </Link>
  );
}

function Place({ task }: { task: PausedTask }) {
  const { t } = useTranslation();
  if (!isTraced(task) && !isLegacy(task))
    return (
      <span className={`${words.dim} ${words.ellipsis}`} title={t('debugger.untraced')}>
        {t('debugger.untracedShort')}
      </span>
    );
  const place = sourcePlace(task) ?? t('debugger.noPlace');
  return (
    <span
      className={`${words.ellipsis} ${words.mono}`}
      title={task.file === null ? undefined : `${task.function ?? ''}\n${task.file}:${task.line}`.trim()}
    >
      {task.function !== null && `${task.function} `}
      <span className={words.dim}>{place}</span>
    </span>
  );
}

/** Whether the definition of a task has not arrived, so that its resources and waiters are unknown. */
const isUnrecorded = (task: PausedTask) => task.name === null && !task.is_driver && task.state !== 'gone';

/** The resources that a task holds. */
function Holds({ task }: { task: PausedTask }) {
  const { t } = useTranslation();
  const isEmpty = Object.keys(task.resources).length === 0;
  if (isEmpty && (task.is_driver || task.state === 'gone')) return <Dash />;
  if (isEmpty && isUnrecorded(task)) return <span className={words.dim}>{t('common.unknown')}</span>;
  const text = shapeText(task.resources);
  return (
    <span className={`${words.num} ${words.ellipsis}`} title={text}>
      {text}
    </span>
  );
}

function Process({ task }: { task: PausedTask }) {
  const [url] = useSessionUrl();
  if (!task.pid) return <Dash />;
  if (task.worker_id === '') return <span className={words.num}>{task.pid}</span>;
  return (
    <Link
      to={toItem(url, 'workers', task.worker_id)}
      className={`${words.link} ${words.num}`}
      title={task.worker_id}
    >
      {task.pid}
    </Link>
  );
}

/** The time since `from` or until `to` (ns), which ticks. */
function Clock({ from, to }: { from?: number; to?: number }) {
  const now = useNow();
  const millis = from === undefined ? (to ?? 0) / 1e6 - now : now - from / 1e6;
  return <span className={words.num}>{wholeAge(Math.max(0, millis))}</span>;
}
