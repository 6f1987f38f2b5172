import { IconMoodEmpty } from '@tabler/icons-react';
import { useCallback, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { useSessionInterval } from '../../api/queries';
import type { Item } from '../../api/types';
import { useLiveList } from '../../api/useLiveList';
import { appliesRange } from '../../base/url';
import { EmptyState } from '../../ui/EmptyState';
import { InternalSwitch } from '../../ui/InternalSwitch';
import { Toolbar } from '../../ui/Toolbar';
import type { Column } from '../../ui/table/columns';
import { LiveTable, useOpenItem, useSort } from '../../ui/table/LiveTable';
import { TableCount } from '../../ui/table/TableCount';
import { TableMenu, useColumnChoice } from '../../ui/table/TableMenu';
import { useSessionUrl } from '../../ui/useUrl';
import { isEmpty } from '../../ui/Value';
import { EntityDrawer } from './EntityDrawer';
import { entityColumn, GROWS } from './entityColumns';
import type { Extras } from './entityExtras';
import { type EntityKind, KINDS, PARTS } from './entityKinds';
import { useEntityFilters } from './useEntityFilters';
import { useFieldName } from './useFieldName';

/** A table of actors, workers, jobs or placement groups with the fields that Ray reports. */
export function EntityView({ view, extras }: { view: EntityKind; extras?: Extras }) {
  const kind = KINDS[view];
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const interval = useSessionInterval(url.session);
  const { state, job_id, node_id, class_name, q } = url.filters;
  // It is not known when a placement group was removed, so the list of them ignores the range of time.
  const { since_ns, until_ns } = appliesRange(view) ? url.filters : {};
  const fields = useEntityFilters(view);
  const [sort, onSort] = useSort(kind.order);
  const internal = url.settings?.internal === 'show' ? 'true' : undefined;
  const params = {
    session: url.session,
    state,
    job_id,
    node_id,
    class_name,
    q,
    since_ns,
    until_ns,
    sort,
    internal,
  };
  const keyOf = useCallback(
    (item: Item) => String(item[kind.id] ?? item.submission_id ?? JSON.stringify(item)),
    [kind.id],
  );
  const list = useLiveList(kind.path, params, keyOf, interval);

  // Show the columns that have a value in one of the first rows.
  const names = useMemo(() => {
    const found = new Set<string>();
    for (const item of list.rows.slice(0, 100))
      for (const [field, value] of Object.entries(item))
        if (!PARTS.has(field) && !isEmpty(value)) found.add(field);
    return [...found].sort().join('\n');
  }, [list.rows]);
  const fieldName = useFieldName();
  const columns = useMemo<Column<Item>[]>(() => {
    const known = names.split('\n').filter((field) => field !== '');
    const own = extras?.columns ?? {};
    const first = kind.first.filter((field) => known.length === 0 || known.includes(field) || field in own);
    const rest = known.filter((field) => !first.includes(field));
    const growing =
      GROWS.find((field) => first.includes(field)) ?? first.find((field) => field === 'name') ?? kind.id;
    const column = (field: string, optional: boolean) => {
      const isOwn = field === kind.id;
      const header = fieldName(field === 'job_id' && !isOwn ? 'job' : field);
      return entityColumn(view, field, header, !optional && field === growing, optional, isOwn);
    };
    return [
      ...first.map((field) => own[field] ?? column(field, false)),
      ...rest.map((field) => column(field, true)),
    ];
  }, [names, view, kind, fieldName, extras?.columns]);
  const choice = useColumnChoice(view, columns, list.rows);

  const item = useOpenItem(keyOf);
  const shown = url.item === undefined ? undefined : list.rows.find((item) => keyOf(item) === url.item);
  return (
    <>
      <Toolbar
        search={t('filter.nameOrId')}
        fields={fields}
        options={
          <>
            {extras?.toolbar}
            <InternalSwitch hidden={list.first?.internal_hidden ?? 0} />
          </>
        }
        count={<TableCount list={list} />}
        menu={<TableMenu name={view} columns={columns} choice={choice} list={list} />}
      />
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
      {shown !== undefined && <EntityDrawer view={view} item={shown} extras={extras} onClose={item.close} />}
    </>
  );
}
