import { Select } from '@mantine/core';
import { IconAlertTriangle, IconCircleX, IconInfoCircle, IconMoodEmpty } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useCallback, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { get } from '../api/client';
import { useSessionInterval } from '../api/queries';
import { PAGE_SIZE, useLiveList } from '../api/useLiveList';
import { Link } from '../app/Link';
import { type EntityView, toggleState, toItem, toView, withFilter } from '../app/url';
import { useSessionUrl } from '../app/useUrl';
import type { Column } from '../components/columns';
import { ColumnChooser, DataTable, useColumnChoice } from '../components/DataTable';
import { Drawer, Field, Fields, Section } from '../components/Drawer';
import { NothingFound } from '../components/NothingFound';
import { CopyId, Dash, Empty, ErrorPanel, Time } from '../components/small';
import { count, time } from '../lib/format';
import { SearchField } from '../pages/FilterBar';
import { ItemLink } from '../pages/ItemLink';
import { type ClusterEvent, EVENT_KINDS, type EventKind, SEVERITIES, type Severity } from './types';

const ICONS = { ERROR: IconCircleX, WARNING: IconAlertTriangle, INFO: IconInfoCircle };
const TONES = { ERROR: 'bad', WARNING: 'waiting', INFO: 'quiet' };
const LISTED: Partial<Record<EventKind, EntityView>> = {
  node: 'nodes',
  worker: 'workers',
  actor: 'actors',
  job: 'jobs',
  placement_group: 'placement-groups',
};

const keyOf = (event: ClusterEvent) => `${event.time_ns} ${event.event} ${event.id} ${event.title}`;

/** What happened, newest first. */
export default function EventsPage() {
  const [url, change] = useSessionUrl();
  const { t } = useTranslation();
  const eventName = useEventName();
  const interval = useSessionInterval(url.session);
  const { severity, kind, node_id, job_id, q, since_ns, until_ns } = url.filters;
  const params = { session: url.session, severity, kind, node_id, job_id, q, since_ns, until_ns };
  const list = useLiveList<ClusterEvent>('/events', params, keyOf, interval);
  const counts = useQuery({
    queryKey: ['events-by-severity', { ...params, severity: undefined }],
    queryFn: ({ signal }) =>
      get<{ by_severity: Record<Severity, number> }>(
        '/events',
        { ...params, severity: undefined, limit: 1 },
        signal,
      ),
    refetchInterval: interval,
  });
  const columns = useMemo<Column<ClusterEvent>[]>(
    () => [
      {
        id: 'severity',
        header: '',
        width: 34,
        cell: (event) => <SeverityIcon severity={event.severity} />,
      },
      {
        id: 'time',
        header: t('events.time'),
        width: 132,
        cell: (event) => <Time ns={event.time_ns} exact />,
      },
      {
        id: 'event',
        header: t('events.what'),
        width: 190,
        cell: (event) => <span className="rs-ellipsis">{eventName(event.event)}</span>,
      },
      {
        id: 'title',
        header: t('events.of'),
        width: 190,
        cell: (event) => (
          <span className="rs-ellipsis" title={event.title ?? undefined}>
            {event.title ?? <Dash />}
          </span>
        ),
      },
      {
        id: 'count',
        header: t('events.count'),
        width: 74,
        align: 'right',
        cell: (event) => <span className="rs-num">{event.count > 1 ? count(event.count) : ''}</span>,
      },
      {
        id: 'message',
        header: t('events.message'),
        width: 240,
        grow: true,
        cell: (event) => (
          <span className="rs-ellipsis" title={event.message ?? undefined}>
            {event.message ?? ''}
          </span>
        ),
      },
      { id: 'node', header: t('events.node'), width: 104, cell: (event) => <CopyId id={event.node_id} /> },
      { id: 'job', header: t('events.job'), width: 104, cell: (event) => <CopyId id={event.job_id} /> },
    ],
    [t, eventName],
  );
  const choice = useColumnChoice('events', columns);
  const open = useCallback(
    (event: ClusterEvent, how: { follow: boolean }) =>
      change((before) => ({ ...before, item: keyOf(event) }), { replace: how.follow }),
    [change],
  );
  const shown = url.item === undefined ? undefined : list.rows.find((event) => keyOf(event) === url.item);
  const close = useCallback(
    () => change((before) => ({ ...before, item: undefined, wide: undefined })),
    [change],
  );
  const chosen = new Set((severity ?? '').split(','));
  return (
    <>
      <div className="rs-filters">
        <h1 className="rs-view-title">{t('nav.events')}</h1>
        {SEVERITIES.map((name) => (
          <button
            key={name}
            type="button"
            className="rs-event-chip"
            data-tone={TONES[name]}
            aria-pressed={chosen.has(name)}
            onClick={() =>
              change((before) => withFilter(before, 'severity', toggleState(before.filters.severity, name)))
            }
            data-testid={`events-${name}`}
          >
            <SeverityIcon severity={name} />
            {t(`events.${name}`)}
            <span className="rs-num">{count(counts.data?.by_severity[name])}</span>
          </button>
        ))}
        <Select
          size="xs"
          w={160}
          clearable
          aria-label={t('events.kinds')}
          placeholder={t('events.all')}
          data={EVENT_KINDS.map((name) => ({ value: name, label: t(`events.kind.${name}`) }))}
          value={kind ?? null}
          onChange={(value) => change((before) => withFilter(before, 'kind', value ?? undefined))}
          data-testid="events-kind"
        />
        <SearchField filter="q" placeholder={t('filter.nameOrId')} />
        <div className="rs-filters-right">
          <span
            className="rs-num rs-dim rs-loaded"
            data-testid="table-count"
            data-total={list.total ?? undefined}
          >
            {list.total !== null && t('table.all', { n: count(list.total), total: count(list.total) })}
          </span>
          <ColumnChooser columns={columns} choice={choice} />
        </div>
      </div>
      {list.error !== null && list.rows.length === 0 ? (
        <ErrorPanel error={list.error} />
      ) : (
        <DataTable
          listKey={JSON.stringify(url.filters)}
          testId="events-table"
          rowTestId="events-row"
          label={t('nav.events')}
          columns={columns}
          visibility={choice.visibility}
          rows={list.rows}
          keyOf={keyOf}
          openKey={url.item}
          onOpen={open}
          loading={list.loading}
          outdated={list.outdated}
          hasMore={list.hasMore}
          loadingMore={list.loadingMore}
          onNearEnd={list.loadMore}
          newRows={list.newRows}
          newRowsMax={PAGE_SIZE}
          onShowNew={list.showNew}
          onView={list.watch}
          empty={
            Object.keys(url.filters).length > 0 ? (
              <NothingFound />
            ) : (
              <Empty icon={<IconMoodEmpty size={26} />} title={t('events.empty')}>
                {t('table.emptyLive')}
              </Empty>
            )
          }
        />
      )}
      {shown !== undefined && <EventDrawer event={shown} onClose={close} />}
    </>
  );
}

function EventDrawer({ event, onClose }: { event: ClusterEvent; onClose: () => void }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const eventName = useEventName();
  const view = LISTED[event.kind];
  return (
    <Drawer
      testId="item-drawer"
      title={event.title ?? eventName(event.event)}
      subtitle={
        <span className="rs-event-title">
          <SeverityIcon severity={event.severity} /> {eventName(event.event)}
        </span>
      }
      onClose={onClose}
    >
      <p className="rs-drawer-links">
        {view !== undefined && event.id !== null && (
          <Link to={toItem(url, view, event.id)} testId="event-open">
            {t('events.open')}
          </Link>
        )}
        {event.kind === 'task' && (
          <Link
            to={toView(url, 'failures', {
              ...(event.id && { func_name: event.id }),
              ...(event.job_id && { job_id: event.job_id }),
            })}
            testId="event-open"
          >
            {t('events.openFailures')}
          </Link>
        )}
      </p>
      <Section title={t('entity.fields')}>
        <Fields>
          <Field name={t('events.time')} hint="time_ns">
            <Time ns={event.time_ns} full />
            {event.count > 1 && event.last_ns !== null && (
              <> {t('events.until', { time: time(event.last_ns) })}</>
            )}
          </Field>
          {event.count > 1 && (
            <Field name={t('events.count')} hint="count">
              {count(event.count)}
            </Field>
          )}
          {event.message !== null && (
            <Field name={t('events.message')} hint="message">
              <span className="rs-event-message">{event.message}</span>
            </Field>
          )}
          {event.node_id !== null && (
            <Field name={t('events.node')} hint="node_id">
              <ItemLink view="nodes" id={event.node_id} full />
            </Field>
          )}
          {event.job_id !== null && (
            <Field name={t('events.job')} hint="job_id">
              <ItemLink view="jobs" id={event.job_id} full />
            </Field>
          )}
        </Fields>
      </Section>
    </Drawer>
  );
}

function SeverityIcon({ severity }: { severity: Severity }) {
  const { t } = useTranslation();
  const Icon = ICONS[severity];
  return (
    <span className="rs-severity" data-tone={TONES[severity]} title={t(`events.${severity}`)}>
      <Icon size={15} aria-label={t(`events.${severity}`)} />
    </span>
  );
}

/** Ray's own name where we have no words. */
function useEventName(): (event: string) => string {
  const { t, i18n } = useTranslation();
  return useCallback(
    (event) =>
      i18n.exists(`events.event.${event}`) ? t(`events.event.${event}` as 'events.event.NODE_DEAD') : event,
    [t, i18n],
  );
}
