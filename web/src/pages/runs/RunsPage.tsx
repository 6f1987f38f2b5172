import { Loader, Select } from '@mantine/core';
import { IconFilterX, IconTimeline } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type ReactNode, useCallback, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { refreshEnded } from '../../api/connection';
import { answerTo } from '../../api/queries';
import type { RunItem, RunPage } from '../../api/schema';
import { loadRows } from '../../api/useLiveList';
import { count } from '../../base/format';
import { addressOf, type RunsUrl } from '../../base/url';
import { useTitle } from '../../shell/useTitle';
import { Command } from '../../ui/Command';
import { EmptyState } from '../../ui/EmptyState';
import { ErrorPanel } from '../../ui/ErrorPanel';
import type { FilterField } from '../../ui/filters/filters';
import { CompareButton } from '../../ui/runs/CompareButton';
import { Toolbar } from '../../ui/Toolbar';
import { TopPage } from '../../ui/TopPage';
import type { Column } from '../../ui/table/columns';
import { DataTable } from '../../ui/table/DataTable';
import { type ColumnChoice, TableMenu, useColumnChoice } from '../../ui/table/TableMenu';
import words from '../../ui/theme/words.module.css';
import { useItemStateName } from '../../ui/useStateName';
import { go, useUrl } from '../../ui/useUrl';
import { toJob } from './RunLink';
import { RunActions } from './RunMenu';
import css from './RunsPage.module.css';
import { groupName, runColumns } from './runColumns';
import { TrendPanel } from './TrendPanel';

/** Maximum number of runs in the table. Filters find older ones. */
const LIMIT = 1000;
/** Number of rows that are on screen without scrolling. */
const ROWS = 20;
const OUTCOMES = ['SUCCEEDED', 'FAILED', 'STOPPED', 'CUT_OFF'];
const NONE: RunItem[] = [];
const VERDICTS = ['slower', 'faster', 'as_usual', 'unknown'] as const;

/** The runs of all sessions. If a script is chosen, its trend is above them. */
export default function RunsPage() {
  const url = useUrl();
  const { t } = useTranslation();
  useTitle(t('runs.title'));
  return url.page === 'runs' ? <Runs url={url} /> : null;
}

function Runs({ url }: { url: RunsUrl }) {
  const { t, i18n } = useTranslation();
  const { filters, sort } = url;
  const [ticked, setTicked] = useState<readonly RunItem[]>([]);
  // A script without a variant is a group of its own. The server calls that "none".
  const variant = filters.variant ?? (filters.script && 'none');
  const { function: _, ...listed } = filters;
  const params = { ...listed, variant, sort };
  const query = useQuery({
    ...answerTo('/runs', { ...params, limit: LIMIT }),
    refetchInterval: refreshEnded,
    placeholderData: keepPreviousData,
  });
  const page = query.data;
  const tick = useCallback((run: RunItem) => setTicked((before) => toggled(before, run)), []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the texts change with the language alone.
  const columns = useMemo(
    () => runColumns(t, url, new Set(ticked.map(addressOf)), tick),
    [t, i18n.language, url, ticked, tick],
  );
  const choice = useColumnChoice('runs', columns, page?.items ?? NONE);
  const isFiltered = Object.values(filters).some(Boolean);
  const oldestFirst = [...ticked].sort((one, other) => (one.begin_ns ?? 0) - (other.begin_ns ?? 0));
  return (
    <TopPage
      title={t('runs.title')}
      intro={t('runs.intro')}
      actions={ticked.length > 0 && <CompareButton ticked={oldestFirst.map(addressOf)} />}
      data-testid="runs-page"
    >
      {query.error !== null && page === undefined && (
        <ErrorPanel error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.isPending && <Loader size="sm" m="md" />}
      {page !== undefined && (page.total > 0 || isFiltered) && (
        <RunsToolbar
          url={url}
          page={page}
          menu={
            <TableMenu
              name="runs"
              columns={columns}
              choice={choice}
              list={{
                rows: page.items,
                total: page.total,
                load: (most) => loadRows<RunItem>('/runs', params, addressOf, most),
              }}
            />
          }
        />
      )}
      {filters.script && <TrendPanel url={url} script={filters.script} />}
      {page !== undefined &&
        (page.total === 0 && !isFiltered ? (
          <NoRuns />
        ) : (
          <Table
            url={url}
            page={page}
            columns={columns}
            choice={choice}
            onTick={tick}
            outdated={query.isPlaceholderData}
          />
        ))}
    </TopPage>
  );
}

function Table(props: {
  url: RunsUrl;
  page: RunPage;
  columns: Column<RunItem>[];
  choice: ColumnChoice;
  onTick: (run: RunItem) => void;
  outdated: boolean;
}) {
  const { url, page } = props;
  const { t } = useTranslation();
  return (
    <DataTable
      testId="run-table"
      rowTestId="run-row"
      kindOf={(run) => run.verdict}
      listKey={JSON.stringify(url.filters)}
      label={t('runs.title')}
      columns={props.columns}
      visibility={props.choice.visibility}
      actions={(run) => <RunActions run={run} />}
      maxRows={ROWS}
      onTick={(run) => run.has_record && props.onTick(run)}
      rows={page.items}
      keyOf={addressOf}
      sort={url.sort ?? '-begin_ns'}
      onSort={(sort) => go({ ...url, sort })}
      linkOf={(run) => (run.has_record ? toJob(run, url.lang) : undefined)}
      outdated={props.outdated}
      empty={<EmptyState icon={<IconFilterX size={26} />} title={t('runs.noneFound')} />}
    />
  );
}

const toggled = (ticked: readonly RunItem[], run: RunItem) => {
  const others = ticked.filter((other) => addressOf(other) !== addressOf(run));
  return others.length < ticked.length ? others : [...ticked, run];
};

function RunsToolbar(props: { url: RunsUrl; page: RunPage; menu: ReactNode }) {
  const { url, page } = props;
  const { t } = useTranslation();
  const stateName = useItemStateName('jobs');
  const { filters } = url;
  const groups = page.groups.map(({ script, variant, runs }) => ({
    value: JSON.stringify([script, variant]),
    label: t('runs.group', { script: groupName({ script, variant }), n: count(runs) }),
  }));
  const { script, variant = '' } = filters;
  const chosen = script === undefined ? null : JSON.stringify([script, variant]);
  if (script !== undefined && groups.every(({ value }) => value !== chosen))
    groups.unshift({ value: String(chosen), label: groupName({ script, variant }) });
  const named = (value: string) => ({ value, label: value });
  const fields: FilterField[] = [
    {
      name: 'verdict',
      label: t('runs.usual'),
      choices: VERDICTS.map((value) => ({ value, label: t(`runs.verdicts.${value}`) })),
    },
    {
      name: 'outcome',
      label: t('runs.outcome'),
      choices: OUTCOMES.map((value) => ({ value, label: stateName(value) })),
    },
    {
      name: 'tag',
      label: t('runs.withTag'),
      choices: [...new Set(page.items.flatMap(({ tags }) => tags))].sort().map(named),
      free: true,
    },
    { name: 'cluster', label: t('runs.cluster') },
  ];
  return (
    <Toolbar
      search={t('runs.search')}
      fields={fields}
      count={
        <span className={`${words.dim} ${words.small}`} data-testid="runs-count">
          {t('runs.count', { n: count(page.items.length), of: count(page.total) })}
          {page.total > page.items.length && ` ${t('runs.more')}`}
          {page.pending > 0 && ` · ${t('runs.pending', { n: count(page.pending) })}`}
        </span>
      }
      menu={props.menu}
    >
      <Select
        size="xs"
        w={220}
        searchable
        clearable
        aria-label={t('runs.script')}
        placeholder={t('runs.anyScript')}
        value={chosen}
        data={groups.filter(({ value }) => !value.startsWith('[""'))}
        onChange={(value) => {
          const [name, own] = value === null ? [undefined, undefined] : (JSON.parse(value) as string[]);
          const group = { script: name, variant: own || undefined, function: undefined };
          go({ ...url, filters: { ...filters, ...group } });
        }}
        data-testid="runs-script"
      />
    </Toolbar>
  );
}

function NoRuns() {
  const { t } = useTranslation();
  return (
    <div className={css.nothing} data-testid="runs-empty">
      <EmptyState icon={<IconTimeline size={32} />} title={t('runs.emptyTitle')}>
        {t('runs.empty')}
      </EmptyState>
      <Command>rayscope run SCRIPT.py</Command>
    </div>
  );
}
