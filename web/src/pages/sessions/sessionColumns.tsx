import { Badge, Checkbox, Tooltip } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import type { TFunction } from 'i18next';
import type { SessionItem } from '../../api/schema';
import { bytes, count } from '../../base/format';
import { CopyId } from '../../ui/CopyId';
import { Dash } from '../../ui/Dash';
import { ItemState } from '../../ui/ItemState';
import { Link } from '../../ui/Link';
import { SlowerMark } from '../../ui/runs/SlowerMark';
import { durationText } from '../../ui/session';
import { Time } from '../../ui/Time';
import { type Column, TIME_WIDTH } from '../../ui/table/columns';
import words from '../../ui/theme/words.module.css';
import css from './SessionsPage.module.css';
import { failedIn, isElsewhere, lasted, toSession } from './sessions';

/** Texts and callbacks of the cells. */
interface Context {
  t: TFunction;
  lang?: string;
  nameOf: (session: SessionItem) => string;
  problemOf: (session: SessionItem) => string;
  ticked: ReadonlySet<string>;
  onTick: (session: SessionItem) => void;
}

export function sessionColumns(texts: Context): Column<SessionItem>[] {
  const { t } = texts;
  const number = (
    id: 'tasks' | 'actors' | 'nodes' | 'jobs',
    more: Partial<Column<SessionItem>> = {},
  ): Column<SessionItem> => ({
    id,
    header: t(`sessions.${id}`),
    width: 76,
    align: 'right',
    cell: (session) => figure(session, count(session[id])),
    ...more,
  });
  return [
    {
      id: 'tick',
      header: '',
      hint: t('table.ticked'),
      width: 30,
      cell: (session) => (
        // biome-ignore lint/a11y/noLabelWithoutControl: the checkbox has a name of its own.
        // biome-ignore lint/a11y/useKeyWithClickEvents: a click beside the box ticks it, too.
        <label className={css.tick} onClick={(event) => event.stopPropagation()}>
          <Checkbox
            size="xs"
            checked={texts.ticked.has(session.session)}
            onChange={() => texts.onTick(session)}
            aria-label={t('sessions.tick', { name: texts.nameOf(session) })}
            data-testid="session-tick"
          />
        </label>
      ),
    },
    {
      id: 'outcome',
      header: t('sessions.outcome'),
      width: 132,
      sort: 'outcome',
      cell: (session) =>
        session.state === 'ended' && session.outcome !== null ? (
          <ItemState state={session.outcome} view="jobs" />
        ) : (
          <ItemState state={session.state} label={t(`sessions.${session.state}`)} />
        ),
    },
    {
      id: 'name',
      header: t('sessions.program'),
      width: 220,
      grow: true,
      sort: 'name',
      cell: (session) => <Name session={session} texts={texts} />,
    },
    {
      id: 'started',
      header: t('sessions.started'),
      width: TIME_WIDTH,
      sort: 'first_ns',
      cell: (session) => <Time ns={session.first_ns} />,
    },
    {
      id: 'lasted',
      header: t('sessions.lasted'),
      width: 136,
      align: 'right',
      sort: 'duration_ns',
      field: 'duration_ns',
      value: lasted,
      cell: (session) => (
        <span className={css.lasted}>
          <SlowerMark run={session.slower} short />
          {figure(session, durationText(session))}
        </span>
      ),
    },
    number('tasks', { sort: 'tasks' }),
    {
      id: 'failed',
      header: t('sessions.failed'),
      width: 132,
      align: 'right',
      sort: 'failed',
      value: failedIn,
      cell: (session) => (
        <span className={failedIn(session) > 0 ? css.bad : words.dim}>
          {figure(session, count(failedIn(session)))}
        </span>
      ),
    },
    number('nodes', { sort: 'nodes' }),
    number('jobs', { optional: true }),
    number('actors', { optional: true }),
    {
      id: 'host',
      header: t('sessions.host'),
      width: 120,
      cell: (session) => text(session.host),
    },
    {
      id: 'ray',
      field: 'ray_version',
      header: 'Ray',
      width: 76,
      cell: (session) => text(session.ray_version),
    },
    {
      id: 'recording',
      header: t('sessions.recordedBy'),
      width: 110,
      needed: (session) => session.recording !== 'events',
      cell: (session) => (
        <span className={words.ellipsis} title={t(`sessions.recordingHint.${session.recording}`)}>
          {t(`sessions.recording.${session.recording}`)}
        </span>
      ),
    },
    {
      id: 'location',
      header: t('sessions.place'),
      width: 130,
      needed: isElsewhere,
      cell: ({ location }) =>
        location === 'local' ? (
          <Dash />
        ) : (
          <Tooltip label={t(`sessions.locationHint.${location}`)}>
            <span className={words.ellipsis} data-testid="session-location">
              {t(`sessions.location.${location}`)}
            </span>
          </Tooltip>
        ),
    },
    {
      id: 'disk',
      header: t('sessions.disk'),
      width: 92,
      align: 'right',
      sort: 'disk_bytes',
      cell: (session) => <span className={words.num}>{bytes(session.disk_bytes)}</span>,
    },
    {
      id: 'session',
      header: 'ID',
      width: 104,
      optional: true,
      cell: (session) => <CopyId id={session.session} />,
    },
  ];
}

const text = (value: string | null) =>
  value === null ? (
    <Dash />
  ) : (
    <span className={words.ellipsis} title={value}>
      {value}
    </span>
  );

/** A figure of the record; unknown if the record cannot be read. */
const figure = (session: SessionItem, value: string) =>
  session.state === 'unreadable' ? <Dash /> : <span className={words.num}>{value}</span>;

function Name({ session, texts }: { session: SessionItem; texts: Context }) {
  const { t } = texts;
  const name = texts.nameOf(session);
  if (session.state === 'unreadable')
    return (
      <span className={words.ellipsis} title={`${session.session}\n${texts.problemOf(session)}`}>
        {name}{' '}
        <span className={css.bad} data-testid="session-error">
          {texts.problemOf(session)}
        </span>
      </span>
    );
  return (
    <span className={css.name}>
      <Link
        to={toSession(session, texts.lang)}
        className={`${css.link} ${words.ellipsis}`}
        title={session.session}
      >
        {name}
      </Link>
      {session.tags.map((tag) => (
        <Badge key={tag} size="sm" variant="default" tt="none">
          {tag}
        </Badge>
      ))}
      {session.dropped_total > 0 && (
        <Tooltip label={t('sessions.droppedHint')}>
          <Badge
            size="sm"
            variant="light"
            color="yellow"
            tt="none"
            leftSection={<IconAlertTriangle size={11} />}
            data-testid="session-dropped"
          >
            {t('sessions.dropped', { n: count(session.dropped_total) })}
          </Badge>
        </Tooltip>
      )}
      {session.note && (
        <span className={`${words.dim} ${words.ellipsis}`} title={session.note}>
          {session.note}
        </span>
      )}
    </span>
  );
}
