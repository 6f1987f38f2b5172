import { IconFunction } from '@tabler/icons-react';
import type { TFunction } from 'i18next';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { useCriticalPath } from '../../api/criticalPath';
import { useFunctions, useScheduling } from '../../api/queries';
import type { CriticalPathAnswer, FunctionItem, FunctionSchedulingItem, Summary } from '../../api/schema';
import { bytes, count } from '../../base/format';
import { TIME_PARTS, type TimePart } from '../../base/scheduling';
import { onlyMineOf, slowestOf } from '../../base/url';
import { Dash } from '../../ui/Dash';
import { Duration } from '../../ui/Duration';
import { EmptyState } from '../../ui/EmptyState';
import { FindingBadge } from '../../ui/insights/FindingBadge';
import { OnlyMineSwitch, useLibraryTexts } from '../../ui/insights/OnlyMine';
import { OriginTag } from '../../ui/insights/OriginTag';
import { useFindings } from '../../ui/insights/useFindings';
import { useJobName } from '../../ui/JobName';
import { ShareBar } from '../../ui/ShareBar';
import { Toolbar } from '../../ui/Toolbar';
import { type Column, sortRows } from '../../ui/table/columns';
import { DataTable } from '../../ui/table/DataTable';
import { TableCount } from '../../ui/table/TableCount';
import { TableMenu, useColumnChoice } from '../../ui/table/TableMenu';
import { useTypeName } from '../../ui/taskColumns';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import css from './FunctionsView.module.css';
import { PartsBar } from './PartsBar';

/** A function, with the breakdown of its attempts' time once that is loaded. */
interface Row extends FunctionItem {
  executing_ns: number | null;
  awaiting_ns: number | null;
  blocked_ns: number | null;
  storing_ns: number | null;
  cpu_ns: number | null;
  /** Waiting time without setup, i.e. without the time in which its worker was prepared. */
  waitingRest_ns: number | null;
  setup_ns: number | null;
  local_share: number | null;
  /** Time on the critical path, ns. */
  path_ns: number | null;
}

const functionKey = (row: FunctionItem) => `${row.func_name ?? ''}|${row.type ?? ''}`;
/** Maximum number of functions that the API returns. */
const TOP = 50;

/** Functions by how much time they take, to answer "why is my job slow?". */
export default function FunctionsView({ summary }: { summary: Summary | undefined }) {
  const [url, change] = useSessionUrl();
  const { t, i18n } = useTranslation();
  const typeName = useTypeName(t, i18n.exists);
  const isWhole = !url.filters.since_ns && !url.filters.until_ns;
  const only = onlyMineOf(url);
  const libraryTexts = useLibraryTexts();
  const scheduling = useScheduling(url.session, url.filters).data?.items;
  const chosen = useFunctions(url.session, url.filters, only);
  const found = isWhole && only === undefined ? summary?.functions : chosen.data?.items;
  const hidden = only === undefined ? [] : (chosen.data?.hidden ?? []);
  const findings = useFindings(url.session, undefined, found !== undefined);
  const jobName = useJobName();
  const path = useCriticalPath(url.session, url.filters.job_id, isWhole);
  // Without the tracer, the critical path does not lead through tasks.
  const onPath =
    isWhole && path.data?.functions.some((one) => !one.is_driver && one.name) ? path.data : undefined;
  const functions = useMemo(() => withScheduling(found, scheduling, onPath), [found, scheduling, onPath]);
  // Shares refer to the critical path once it is known, otherwise to execution time.
  const weight = onPath === undefined ? 'executing_ns' : 'path_ns';
  const most = functions.reduce((found, row) => Math.max(found, row[weight] ?? 0), 0);
  const all = onPath?.duration_ns ?? functions.reduce((sum, row) => sum + (row.executing_ns ?? 0), 0);
  const why =
    onPath !== undefined
      ? t('functions.byPath', { job: onPath.job_id ? jobName(onPath.job_id) : '–' })
      : t(`functions.byExecuting.${isWhole ? (path.isPending ? 'pending' : 'failed') : 'range'}`);

  // biome-ignore lint/correctness/useExhaustiveDependencies: typeName changes with the language alone.
  const columns = useMemo<Column<Row>[]>(() => {
    const number = (field: 'attempts' | 'failed' | 'running' | 'finished', width: number): Column<Row> => ({
      id: field,
      header: t(`column.${field}`),
      width,
      align: 'right',
      sort: field,
      cell: (row) => (
        <span
          className={words.num}
          data-bad={(field === 'failed' && row.failed > 0) || undefined}
          data-zero={row[field] === 0 || undefined}
          title={
            field === 'failed' && row.stopped_by_libraries > 0
              ? t('failures.stopped', { n: count(row.stopped_by_libraries) })
              : undefined
          }
        >
          {count(row[field])}
        </span>
      ),
    });
    const quantile = (id: 'p50' | 'p95' | 'max'): Column<Row> => ({
      id,
      header: t(`column.${id}`),
      hint: t('functions.ofDuration'),
      width: 80,
      align: 'right',
      sort: `${id}_ns`,
      cell: (row) => <Duration ns={row[`${id}_ns`]} />,
    });
    const time = (id: TimePart | 'total' | 'waiting' | 'duration' | 'cpu'): Column<Row> => ({
      id,
      header: t(`time.${id}`),
      hint: t(`timeHint.${id}`),
      width: id === 'waitingRest' ? 170 : 96,
      align: 'right',
      sort: `${id}_ns`,
      cell: (row) => (row[`${id}_ns`] ? <Duration ns={row[`${id}_ns`]} /> : <Dash />),
    });
    return [
      {
        id: 'name',
        header: t('column.func_name'),
        width: 220,
        grow: true,
        sort: 'func_name',
        cell: (row) =>
          row.func_name ? (
            <span className={css.name}>
              <span className={`${words.ellipsis} ${words.name}`} title={row.func_name}>
                {row.func_name}
              </span>
              <OriginTag origin={row.origin} operator={row.operator} name={row.func_name} />
              <FindingBadge finding={findings.of(row.func_name)} job={findings.job} />
            </span>
          ) : (
            <span className={words.dim}>{t('common.unknown')}</span>
          ),
      },
      {
        id: 'share',
        header: t('column.share'),
        hint: t(weight === 'path_ns' ? 'functions.shareOfPath' : 'functions.shareOfExecuting'),
        width: 120,
        sort: weight,
        cell: (row) => {
          const took = row[weight];
          if (took === null) return <Dash />;
          const share = all > 0 ? took / all : 0;
          return (
            <span className={css.share}>
              <ShareBar share={most > 0 ? took / most : 0} />
              <span className={`${words.num} ${css.shareNumber}`}>{percent(share)}</span>
            </span>
          );
        },
      },
      time('duration'),
      {
        id: 'parts',
        header: t('functions.parts'),
        hint: t('functions.partsHint'),
        width: 164,
        cell: (row) => <PartsBar parts={row} />,
      },
      time('executing'),
      time('cpu'),
      time('awaiting'),
      time('blocked'),
      time('waitingRest'),
      time('setup'),
      time('storing'),
      { ...time('waiting'), optional: true },
      time('total'),
      number('attempts', 88),
      quantile('p50'),
      quantile('p95'),
      quantile('max'),
      ...(['p50', 'p95', 'max'] as const).map((id) => memoryColumn(t, id)),
      {
        id: 'local',
        header: t('column.local'),
        width: 76,
        align: 'right',
        sort: 'local_share',
        optional: true,
        cell: (row) =>
          row.local_share === null ? <Dash /> : <span className={words.num}>{percent(row.local_share)}</span>,
      },
      number('failed', 72),
      number('running', 84),
      { ...number('finished', 84), optional: true },
      {
        id: 'type',
        header: t('column.type'),
        width: 128,
        cell: (row) => (row.type ? typeName(row.type) : <Dash />),
      },
    ];
  }, [t, i18n.language, weight, most, all, findings]);

  const choice = useColumnChoice('functions', columns, functions);
  const sort = url.sort ?? `-${weight}`;
  const rows = useMemo(() => sorted(functions, sort), [functions, sort]);
  return (
    <>
      <Toolbar
        options={<OnlyMineSwitch />}
        count={
          <TableCount
            list={{ total: functions.length }}
            text={t(functions.length >= TOP ? 'functions.top' : 'functions.all', {
              n: count(functions.length),
            })}
          />
        }
        menu={<TableMenu name="functions" columns={columns} choice={choice} list={{ rows }} />}
      >
        <span className={words.dim}>
          <span data-testid="functions-weight">{why}</span>
          {hidden.length > 0 && <span data-testid="libraries"> {libraryTexts(hidden)}</span>}
        </span>
      </Toolbar>
      <DataTable
        testId="function-table"
        rowTestId="function-row"
        label={t('nav.functions')}
        columns={columns}
        visibility={choice.visibility}
        rows={rows}
        keyOf={functionKey}
        sort={sort}
        onSort={(next) => change((before) => ({ ...before, sort: next === `-${weight}` ? undefined : next }))}
        linkOf={(row) => (row.func_name === null ? undefined : slowestOf(url, row))}
        loading={found === undefined}
        empty={
          <EmptyState icon={<IconFunction size={26} />} title={t('functions.empty')}>
            {t(isWhole ? 'table.emptyLive' : 'table.emptyRange')}
          </EmptyState>
        }
      />
    </>
  );
}

const memoryColumn = (t: TFunction, id: 'p50' | 'p95' | 'max'): Column<Row> => ({
  id: `${id}_memory`,
  header: t(`functions.memory.${id}`),
  hint: t('peakMemory.hint'),
  width: 112,
  align: 'right',
  sort: `${id}_memory`,
  optional: id !== 'max',
  cell: (row) => {
    const size = row[`${id}_memory`];
    return size === null ? <Dash /> : <span className={words.num}>{bytes(size)}</span>;
  },
});

/** `20%`, `9.6%`, `<0.1%`. */
function percent(share: number): string {
  if (share > 0 && share < 0.0005) return '<0.1%';
  return `${(share * 100).toFixed(share >= 0.1 || share === 0 ? 0 : 1)}%`;
}

/**
 * The functions with their scheduling times and their time on the critical path. Attempts stopped on purpose
 * do not count as failed.
 */
function withScheduling(
  functions: FunctionItem[] = [],
  found: FunctionSchedulingItem[] = [],
  path?: CriticalPathAnswer,
): Row[] {
  const onPath = new Map(
    path?.functions.flatMap((one) => (one.is_driver ? [] : [[one.name ?? '', one.total_ns] as const])),
  );
  const byName = new Map(found.map((item) => [item.func_name, item]));
  return functions.map((counted) => {
    const row = { ...counted, failed: counted.failed - counted.stopped_by_libraries };
    const item = byName.get(row.func_name);
    const placed = item === undefined ? 0 : item.local + item.spilled;
    const part = (name: TimePart) =>
      item === undefined
        ? null
        : TIME_PARTS[name].reduce((sum, phase) => sum + (item[`${phase}_ns`] ?? 0), 0);
    return {
      ...row,
      executing_ns: part('executing'),
      awaiting_ns: part('awaiting'),
      blocked_ns: part('blocked'),
      storing_ns: part('storing'),
      waitingRest_ns: part('waitingRest'),
      setup_ns: part('setup'),
      cpu_ns: item?.cpu_ns ?? null,
      path_ns: path === undefined ? null : (onPath.get(row.func_name ?? '') ?? 0),
      local_share: item !== undefined && placed > 0 ? item.local / placed : null,
    };
  });
}

function sorted(rows: Row[], sort: string): Row[] {
  // Functions that are not on the path are ordered by execution time.
  const byExecuting = sortRows(rows, '-executing_ns', (row) => row.executing_ns ?? 0);
  return sortRows(byExecuting, sort, (row, field) => row[field as keyof Row]);
}
