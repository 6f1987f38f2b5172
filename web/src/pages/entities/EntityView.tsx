import { IconMoodEmpty } from '@tabler/icons-react';
import { type ReactNode, useCallback, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { useSessionInterval } from '../../api/queries';
import type { Item } from '../../api/types';
import { useLiveList } from '../../api/useLiveList';
import { bytes, programName } from '../../base/format';
import { type EntityView as EntityViewName, type FilterName, toView } from '../../base/url';
import { CopyId } from '../../ui/CopyId';
import type { Column } from '../../ui/columns';
import { Dash } from '../../ui/Dash';
import { ColumnChooser, useColumnChoice } from '../../ui/DataTable';
import { Drawer, Field, Fields, Section } from '../../ui/Drawer';
import { EmptyState } from '../../ui/EmptyState';
import { ItemLink } from '../../ui/ItemLink';
import { ItemState } from '../../ui/ItemState';
import { LaneName } from '../../ui/Lane';
import { Link } from '../../ui/Link';
import { InternalSwitch, LiveTable, TableCount, useOpenItem, useSort } from '../../ui/LiveTable';
import { LogPanel } from '../../ui/logs/LogPanel';
import { SearchField } from '../../ui/SearchField';
import { Time } from '../../ui/Time';
import { useSessionUrl } from '../../ui/useUrl';
import { isEmpty, oneLine, Value } from '../../ui/Value';

/** Of each kind: where it is listed, its id, the columns that matter first, and how its tasks are found. */
const KINDS: Record<
  EntityViewName,
  { path: string; id: string; first: string[]; order: string; tasks: FilterName }
> = {
  actors: {
    path: '/actors',
    id: 'actor_id',
    first: [
      'state',
      'class_name',
      'name',
      'actor_id',
      'pid',
      'node_id',
      'job_id',
      'num_restarts',
      'start_ns',
      'end_ns',
    ],
    order: '-start_ns',
    tasks: 'actor_id',
  },
  workers: {
    path: '/workers',
    id: 'worker_id',
    first: [
      'state',
      'worker_type',
      'worker_id',
      'pid',
      'cpu_percent',
      'memory_bytes',
      'node_id',
      'job_id',
      'start_ns',
      'end_ns',
      'exit_detail',
    ],
    order: '-start_ns',
    tasks: 'worker_id',
  },
  nodes: {
    path: '/nodes',
    id: 'node_id',
    first: [
      'state',
      'node_name',
      'hostname',
      'node_ip',
      'is_head',
      'node_id',
      'resources_total',
      'lane',
      'start_ns',
      'end_ns',
    ],
    order: '-start_ns',
    tasks: 'node_id',
  },
  jobs: {
    path: '/jobs',
    id: 'job_id',
    first: [
      'state',
      'entrypoint',
      'tasks',
      'start_ns',
      'duration',
      'submission_id',
      'job_id',
      'type',
      'message',
    ],
    order: '-start_ns',
    tasks: 'job_id',
  },
  'placement-groups': {
    path: '/placement_groups',
    id: 'placement_group_id',
    first: [
      'state',
      'name',
      'placement_group_id',
      'strategy',
      'bundles',
      'job_id',
      'is_detached',
      'created_ns',
    ],
    order: '-created_ns',
    tasks: 'placement_group_id',
  },
};

/** The field of each kind that takes what is left of the width. */
const GROWS = new Set(['class_name', 'entrypoint', 'exit_detail', 'bundles', 'resources_total']);
/** Structures: no order that means anything. */
const UNORDERED = new Set([
  'bundles',
  'resources_total',
  'required_resources',
  'labels',
  'label_selector',
  'runtime_env',
  'metadata',
  'stats',
  'death_cause',
  'lane',
]);
/** Shown with another field. */
const PARTS = new Set(['lane_code', 'lane_reason']);

/** What a page adds to the plain list of a kind. */
export interface Extras {
  /** In place of the plain column of a field, or one more where the kind's order has its name. */
  columns?: Record<string, Column<Item>>;
  /** Beside the search field. */
  toolbar?: ReactNode;
  /** In the drawer, above the fields. */
  detail?: (item: Item) => ReactNode;
  /** Fields that `detail` shows in its own way. */
  hide?: ReadonlySet<string>;
}

/** Actors, workers, nodes, jobs and placement groups: a plain table of whatever Ray tells of them. */
export function EntityView({ view, extras }: { view: EntityViewName; extras?: Extras }) {
  const kind = KINDS[view];
  const [url] = useSessionUrl();
  const { t, i18n } = useTranslation();
  const interval = useSessionInterval(url.session);
  const { state, job_id, node_id, q } = url.filters;
  const [sort, onSort] = useSort(kind.order);
  const internal = url.settings?.internal === 'show' ? 'true' : undefined;
  const params = { session: url.session, state, job_id, node_id, q, sort, internal };
  const keyOf = useCallback(
    (item: Item) => String(item[kind.id] ?? item.submission_id ?? JSON.stringify(item)),
    [kind.id],
  );
  const list = useLiveList<Item>(kind.path, params, keyOf, interval);

  // Columns are what the first rows have; a set that grew stays, so that nothing jumps.
  const names = useMemo(() => {
    const found = new Set<string>();
    for (const item of list.rows.slice(0, 100))
      for (const field of Object.keys(item)) if (!PARTS.has(field)) found.add(field);
    return [...found].sort().join('\n');
  }, [list.rows]);
  const fieldName = useCallback(
    (field: string) =>
      i18n.exists(`field.${field}`) ? t(`field.${field}` as 'field.state') : rayName(field),
    [t, i18n],
  );
  const columns = useMemo<Column<Item>[]>(() => {
    const known = names.split('\n').filter((field) => field !== '');
    const own = extras?.columns ?? {};
    const first = kind.first.filter((field) => known.length === 0 || known.includes(field) || field in own);
    const rest = known.filter((field) => !first.includes(field));
    const growing =
      first.find((field) => GROWS.has(field)) ?? first.find((field) => field === 'name') ?? kind.id;
    return [
      ...first.map((field) => own[field] ?? column(field, fieldName(field), field === growing, false)),
      ...rest.map((field) => column(field, fieldName(field), false, true)),
    ];
  }, [names, kind, fieldName, extras?.columns]);
  const choice = useColumnChoice(view, columns);

  const item = useOpenItem(keyOf);
  const shown = url.item === undefined ? undefined : list.rows.find((item) => keyOf(item) === url.item);
  // A job that was submitted but has no driver yet is listed by its submission id: no task has that.
  const hasTasks = shown !== undefined && /^[0-9a-f]{8,}$/.test(String(shown[kind.id] ?? ''));
  return (
    <>
      <div className="rs-filters">
        <h1 className="rs-view-title">{t(`nav.${view}`)}</h1>
        <SearchField filter="q" placeholder={t('filter.nameOrId')} />
        {extras?.toolbar}
        <div className="rs-filters-right">
          <InternalSwitch hidden={list.first?.internal_hidden ?? 0} />
          <TableCount list={list} />
          <ColumnChooser columns={columns} choice={choice} />
        </div>
      </div>
      <LiveTable
        list={list}
        choice={choice}
        testId={`${view}-table`}
        rowTestId={`${view}-row`}
        label={t(`nav.${view}`)}
        columns={columns}
        keyOf={keyOf}
        sort={sort}
        onSort={onSort}
        openKey={item.openKey}
        onOpen={item.onOpen}
        empty={
          <EmptyState icon={<IconMoodEmpty size={26} />} title={t(`entity.empty.${view}`)}>
            {t('table.emptyLive')}
          </EmptyState>
        }
      />
      {shown !== undefined && (
        <Drawer
          testId="item-drawer"
          title={String(
            shown.class_name || shown.name || shown.node_name || shown.entrypoint || shown[kind.id] || '',
          )}
          subtitle={<ItemState state={typeof shown.state === 'string' ? shown.state : null} />}
          onClose={item.close}
        >
          {hasTasks && (
            <p className="rs-drawer-links">
              <Link to={toView(url, 'tasks', { [kind.tasks]: String(shown[kind.id]) })}>
                {t('entity.tasksOf')}
              </Link>
            </p>
          )}
          {extras?.detail?.(shown)}
          {(view === 'actors' || view === 'workers') && hasTasks && (
            <Section title={t('nav.logs')} testId="item-logs">
              <LogPanel of={{ [view === 'actors' ? 'actor_id' : 'worker_id']: String(shown[kind.id]) }} />
            </Section>
          )}
          <Section title={t('entity.fields')}>
            <Fields>
              {[...kind.first, ...Object.keys(shown).filter((field) => !kind.first.includes(field))]
                .filter((field) => field in shown && !PARTS.has(field) && !extras?.hide?.has(field))
                .filter((field) => kind.first.includes(field) || !isEmpty(shown[field]))
                .map((field) => (
                  <Field key={field} name={fieldName(field)} hint={field}>
                    {field === 'lane' ? (
                      <LaneName
                        lane={String(shown.lane)}
                        code={shown.lane_code}
                        reason={shown.lane_reason}
                        whole
                      />
                    ) : (
                      <FieldValue name={field} value={shown[field]} of={kind.id} />
                    )}
                  </Field>
                ))}
            </Fields>
          </Section>
        </Drawer>
      )}
    </>
  );
}

export function WorkersPage() {
  return <EntityView view="workers" />;
}

/** Where the thing that an id names is listed. */
const LISTED: Record<string, EntityViewName> = {
  actor_id: 'actors',
  creator_actor_id: 'actors',
  worker_id: 'workers',
  node_id: 'nodes',
  driver_node_id: 'nodes',
  job_id: 'jobs',
  placement_group_id: 'placement-groups',
};

function FieldValue({ name, value, of }: { name: string; value: unknown; of: string }) {
  const { t } = useTranslation();
  const list = LISTED[name];
  if (list !== undefined && name !== of && typeof value === 'string' && value !== '')
    return <ItemLink view={list} id={value} full />;
  if (typeof value === 'boolean') return t(value ? 'common.yes' : 'common.no');
  return <Value name={name} value={value} />;
}

const NUMBER = /^(pid|.*_pid|.*_port|num_.*|max_.*|exit_code|.*_bytes|.*_percent|.*_count)$/;
/** px, of fields that need more or less than most. */
const WIDTHS: Record<string, number> = {
  state: 164,
  class_name: 170,
  name: 124,
  pid: 76,
  cpu_percent: 76,
  ip: 124,
  node_ip: 124,
  node_name: 140,
  hostname: 132,
  type: 112,
  worker_type: 104,
  strategy: 132,
  is_head: 76,
  is_detached: 92,
  num_restarts: 92,
  submission_id: 132,
  placement_group_id: 148,
  metrics_export_port: 112,
  dashboard_agent_port: 104,
  entrypoint: 260,
  exit_detail: 240,
  bundles: 240,
  resources_total: 220,
  lane: 100,
};

/** A field that we have no words for, by Ray's. */
function rayName(field: string): string {
  const words = field.replace(/_ns$/, '').replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function column(field: string, header: string, grow: boolean, optional: boolean): Column<Item> {
  const number = NUMBER.test(field);
  const width =
    WIDTHS[field] ?? (field.endsWith('_ns') ? 132 : field.endsWith('_id') ? 104 : number ? 108 : 160);
  return {
    id: field,
    header,
    width: grow ? Math.max(width, 170) : width,
    grow,
    align: number ? 'right' : undefined,
    sort: UNORDERED.has(field) ? undefined : field,
    optional,
    cell: (item) =>
      field === 'lane' ? (
        <LaneName lane={String(item.lane)} code={item.lane_code} reason={item.lane_reason} />
      ) : (
        <Cell name={field} value={item[field]} />
      ),
  };
}

function Cell({ name, value }: { name: string; value: unknown }) {
  if (value === null || value === undefined || value === '') return <Dash />;
  if (name === 'state') return <ItemState state={String(value)} />;
  if (name.endsWith('_ns') && typeof value === 'number') return <Time ns={value} />;
  if (isId(name, value)) return <CopyId id={value} />;
  if (typeof value === 'number') {
    const text = name.endsWith('_bytes') ? bytes(value) : name.endsWith('_percent') ? `${value}%` : value;
    return <span className="rs-num">{text}</span>;
  }
  if (typeof value === 'boolean') return <YesNo value={value} />;
  const text = oneLine(value);
  return (
    <span className="rs-ellipsis" title={text}>
      {name === 'entrypoint' ? programName(text) : text}
    </span>
  );
}

/** Not so what somebody called a job: that is read, and shown as long as there is room. */
const isId = (name: string, value: unknown): value is string =>
  name.endsWith('_id') && typeof value === 'string' && /^[0-9a-f-]{8,}$/i.test(value);

function YesNo({ value }: { value: boolean }) {
  const { t } = useTranslation();
  return <span className={value ? undefined : 'rs-dim'}>{t(value ? 'common.yes' : 'common.no')}</span>;
}
