import { Box } from '@mantine/core';
import { IconAlertTriangle, IconCircleX, IconInfoCircle, IconMoodEmpty } from '@tabler/icons-react';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { type ClusterEvent, EVENT_KINDS, SEVERITIES, type Severity } from '../../api/jobs';
import { useSessionInterval } from '../../api/queries';
import { useLiveList } from '../../api/useLiveList';
import { count, time } from '../../base/format';
import { toggleState, withFilter } from '../../base/url';
import { Dash } from '../../ui/Dash';
import { EventCause, useEventText } from '../../ui/DeathCause';
import { Drawer, Field, Fields, Section } from '../../ui/Drawer';
import { EmptyState } from '../../ui/EmptyState';
import { placeOf, SEVERITY_TONES } from '../../ui/eventPlace';
import { usePlaceFilters } from '../../ui/FilterBar';
import { ItemLink } from '../../ui/ItemLink';
import { JobName } from '../../ui/JobName';
import { Link } from '../../ui/Link';
import { NodeLabel } from '../../ui/NodeLabel';
import { Time } from '../../ui/Time';
import { Toolbar } from '../../ui/Toolbar';
import type { Column } from '../../ui/table/columns';
import { LiveTable, useOpenItem } from '../../ui/table/LiveTable';
import { TableCount } from '../../ui/table/TableCount';
import { TableMenu, useColumnChoice } from '../../ui/table/TableMenu';
import chips from '../../ui/theme/chips.module.css';
import words from '../../ui/theme/words.module.css';
import { useEventName } from '../../ui/useStateName';
import { useSessionUrl } from '../../ui/useUrl';
import css from './EventsPage.module.css';

const ICONS = { ERROR: IconCircleX, WARNING: IconAlertTriangle, INFO: IconInfoCircle };
const keyOf = (event: ClusterEvent) => `${event.time_ns} ${event.event} ${event.id} ${event.title}`;

/** Cluster events, newest first. */
export default function EventsPage() {
  const [url, change] = useSessionUrl();
  const { t } = useTranslation();
  const eventName = useEventName();
  const eventText = useEventText();
  const interval = useSessionInterval(url.session);
  const { severity, kind, node_id, job_id, q, since_ns, until_ns } = url.filters;
  const params = { session: url.session, severity, kind, node_id, job_id, q, since_ns, until_ns };
  const list = useLiveList('/events', params, keyOf, interval);
  const columns = useMemo<Column<ClusterEvent>[]>(
    () => [
      {
        id: 'severity',
        header: '',
        hint: t('events.severity'),
        width: 34,
        cell: (event) => <SeverityIcon severity={event.severity} />,
      },
      {
        id: 'time',
        header: t('events.time'),
        width: 112,
        cell: (event) => <Time ns={event.time_ns} exact />,
      },
      {
        id: 'event',
        header: t('events.what'),
        width: 190,
        cell: (event) => <span className={words.ellipsis}>{eventName(event.event)}</span>,
      },
      {
        id: 'title',
        header: t('events.of'),
        width: 156,
        cell: (event) => (
          <span className={words.ellipsis} title={event.title ?? undefined}>
            {event.title ?? <Dash />}
          </span>
        ),
      },
      {
        id: 'count',
        header: t('events.count'),
        width: 62,
        align: 'right',
        cell: (event) => <span className={words.num}>{event.count > 1 ? count(event.count) : ''}</span>,
      },
      {
        id: 'message',
        header: t('events.message'),
        width: 240,
        grow: true,
        cell: (event) => (
          <span className={words.ellipsis} title={event.message ?? undefined}>
            {eventText(event)}
          </span>
        ),
      },
      { id: 'node', header: t('events.node'), width: 132, cell: (event) => <NodeLabel id={event.node_id} /> },
      { id: 'job', header: t('events.job'), width: 140, cell: (event) => <JobName id={event.job_id} /> },
    ],
    [t, eventName, eventText],
  );
  const choice = useColumnChoice('events', columns, list.rows);
  const item = useOpenItem(keyOf);
  const shown = url.item === undefined ? undefined : list.rows.find((event) => keyOf(event) === url.item);
  const kinds = EVENT_KINDS.map((name) => ({ value: name, label: t(`events.kind.${name}`) }));
  const fields = [{ name: 'kind' as const, label: t('events.kinds'), choices: kinds }, ...usePlaceFilters()];
  const chosen = new Set((severity ?? '').split(','));
  return (
    <>
      <Toolbar
        search={t('filter.nameOrId')}
        fields={fields}
        count={<TableCount list={list} />}
        menu={<TableMenu name="events" columns={columns} choice={choice} list={list} />}
      >
        {SEVERITIES.map((name) => (
          <button
            key={name}
            type="button"
            className={chips.chip}
            data-tone={SEVERITY_TONES[name]}
            aria-pressed={chosen.has(name)}
            onClick={() =>
              change((before) => withFilter(before, 'severity', toggleState(before.filters.severity, name)))
            }
            data-testid={`events-${name}`}
          >
            <SeverityIcon severity={name} />
            {t(`events.${name}`)}
            <span className={words.num}>{count(list.first?.by_severity[name])}</span>
          </button>
        ))}
      </Toolbar>
      <LiveTable
        list={list}
        choice={choice}
        testId="events-table"
        rowTestId="events-row"
        label={t('nav.events')}
        columns={columns}
        keyOf={keyOf}
        openKey={item.openKey}
        onOpen={item.onOpen}
        empty={
          <EmptyState icon={<IconMoodEmpty size={26} />} title={t('events.empty')}>
            {t('table.emptyLive')}
          </EmptyState>
        }
      />
      {shown !== undefined && <EventDrawer event={shown} onClose={item.close} />}
    </>
  );
}

function EventDrawer({ event, onClose }: { event: ClusterEvent; onClose: () => void }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const eventName = useEventName();
  const place = placeOf(url, event);
  return (
    <Drawer
      testId="item-drawer"
      title={event.title ?? eventName(event.event)}
      subtitle={
        <span className={css.title}>
          <SeverityIcon severity={event.severity} /> {eventName(event.event)}
        </span>
      }
      onClose={onClose}
    >
      <Box component="p" px={18} pt={12}>
        {place !== undefined && (
          <Link to={place} testId="event-open">
            {t(event.kind === 'task' ? 'events.openFailures' : 'events.open')}
          </Link>
        )}
      </Box>
      <EventCause event={event} />
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
              <span className={words.lines}>{event.message}</span>
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
    <span className={css.severity} data-tone={SEVERITY_TONES[severity]} title={t(`events.${severity}`)}>
      <Icon size={15} aria-label={t(`events.${severity}`)} />
    </span>
  );
}
