import { Button, Group, Loader, Select, Text, TextInput, Title } from '@mantine/core';
import { IconFilterX, IconGitCompare, IconSearch, IconTag, IconTimeline } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useCallback, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { refreshEnded } from '../../api/connection';
import { answerTo } from '../../api/queries';
import type { RunItem, RunPage } from '../../api/schema';
import { count } from '../../base/format';
import { MAX_COMPARED, type RunFilters, type RunsUrl } from '../../base/url';
import { useTitle } from '../../shell/useTitle';
import { Command } from '../../ui/Command';
import { EmptyState } from '../../ui/EmptyState';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { DataTable } from '../../ui/table/DataTable';
import layout from '../../ui/theme/layout.module.css';
import words from '../../ui/theme/words.module.css';
import { useItemStateName } from '../../ui/useStateName';
import { useTypedText } from '../../ui/useTypedFilter';
import { go, useUrl } from '../../ui/useUrl';
import { toJob } from './RunLink';
import { RunActions } from './RunMenu';
import css from './RunsPage.module.css';
import { groupName, keyOfRun, runColumns } from './runColumns';
import { TrendPanel } from './TrendPanel';

/** Maximum number of runs in the table. Filters find older ones. */
const LIMIT = 1000;
/** Number of rows that are on screen without scrolling. */
const ROWS = 20;
const OUTCOMES = ['SUCCEEDED', 'FAILED', 'STOPPED', 'CUT_OFF'];
const VERDICTS = ['slower', 'faster', 'as_usual', 'unknown'] as const;

/** The runs of all sessions. If a script is chosen, its trend is above them. */
export default function RunsPage() {
  const url = useUrl();
  const { t } = useTranslation();
  useTitle(t('runs.title'));
  return url.page === 'runs' ? <Runs url={url} /> : null;
}

function Runs({ url }: { url: RunsUrl }) {
  const { t } = useTranslation();
  const { filters, sort } = url;
  const [ticked, setTicked] = useState<readonly RunItem[]>([]);
  // A script without a variant is a group of its own. The server calls that "none".
  const variant = filters.variant ?? (filters.script && 'none');
  const query = useQuery({
    ...answerTo('/runs', { ...filters, variant, sort, limit: LIMIT }),
    refetchInterval: refreshEnded,
    placeholderData: keepPreviousData,
  });
  const page = query.data;
  const isFiltered = Object.values(filters).some(Boolean);
  return (
    <main className={`${layout.main} ${css.page}`} id="main" tabIndex={-1} data-testid="runs-page">
      <header className={css.head} data-ticked={ticked.length > 0 || undefined}>
        <div>
          <Title order={1}>{t('runs.title')}</Title>
          <Text size="sm" c="dimmed">
            {t('runs.intro')}
          </Text>
        </div>
        {ticked.length > 0 && <CompareButton ticked={ticked} lang={url.lang} />}
      </header>
      {query.error !== null && page === undefined && (
        <ErrorPanel error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.isPending && <Loader size="sm" m="md" />}
      {page !== undefined && (page.total > 0 || isFiltered) && <FilterRow url={url} page={page} />}
      {filters.script && <TrendPanel url={url} script={filters.script} />}
      {page !== undefined &&
        (page.total === 0 && !isFiltered ? (
          <NoRuns />
        ) : (
          <Table
            url={url}
            page={page}
            ticked={ticked}
            onTick={setTicked}
            outdated={query.isPlaceholderData}
          />
        ))}
    </main>
  );
}

function Table(props: {
  url: RunsUrl;
  page: RunPage;
  ticked: readonly RunItem[];
  onTick: (next: (before: readonly RunItem[]) => readonly RunItem[]) => void;
  outdated: boolean;
}) {
  const { url, page, ticked, onTick } = props;
  const { t, i18n } = useTranslation();
  const tick = useCallback((run: RunItem) => onTick((before) => toggled(before, run)), [onTick]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the texts change with the language alone.
  const columns = useMemo(
    () => runColumns(t, url, new Set(ticked.map(keyOfRun)), tick),
    [t, i18n.language, url, ticked, tick],
  );
  const open = useCallback(
    (run: RunItem, { follow }: { follow: boolean }) => {
      if (!follow && run.has_record) go(toJob(run, url.lang));
    },
    [url.lang],
  );
  return (
    <DataTable
      testId="run-table"
      rowTestId="run-row"
      kindOf={(run) => run.verdict}
      listKey={JSON.stringify(url.filters)}
      label={t('runs.title')}
      columns={columns}
      actions={(run) => <RunActions run={run} />}
      maxRows={ROWS}
      rows={page.items}
      keyOf={keyOfRun}
      sort={url.sort ?? '-begin_ns'}
      onSort={(sort) => go({ ...url, sort })}
      onOpen={open}
      outdated={props.outdated}
      empty={<EmptyState icon={<IconFilterX size={26} />} title={t('runs.noneFound')} />}
    />
  );
}

const toggled = (ticked: readonly RunItem[], run: RunItem) => {
  const others = ticked.filter((other) => keyOfRun(other) !== keyOfRun(run));
  return others.length < ticked.length ? others : [...ticked, run];
};

/** Compares the oldest ticked run with the others. */
function CompareButton({ ticked, lang }: { ticked: readonly RunItem[]; lang?: string }) {
  const { t } = useTranslation();
  const [a = '', ...b] = [...ticked]
    .sort((one, other) => (one.begin_ns ?? 0) - (other.begin_ns ?? 0))
    .map(keyOfRun);
  const isTooMany = b.length > MAX_COMPARED;
  return (
    <Group gap={12}>
      {b.length === 0 && <span className={words.dim}>{t('runs.compareMore')}</span>}
      {isTooMany && <span className={words.dim}>{t('runs.compareLess', { n: MAX_COMPARED + 1 })}</span>}
      <Button
        size="xs"
        leftSection={<IconGitCompare size={15} />}
        disabled={b.length === 0 || isTooMany}
        onClick={() => go({ page: 'compare', a, b: b.join(','), lang })}
        data-testid="runs-compare"
      >
        {t('runs.compare')}
      </Button>
    </Group>
  );
}

function FilterRow({ url, page }: { url: RunsUrl; page: RunPage }) {
  const { t } = useTranslation();
  const stateName = useItemStateName('jobs');
  const { filters } = url;
  const set = (changed: RunFilters) =>
    go({ ...url, filters: { ...filters, ...changed }, function: undefined });
  const groups = page.groups.map(({ script, variant, runs }) => ({
    value: JSON.stringify([script, variant]),
    label: t('runs.group', { script: groupName({ script, variant }), n: count(runs) }),
  }));
  const { script, variant = '' } = filters;
  const chosen = script === undefined ? null : JSON.stringify([script, variant]);
  if (script !== undefined && groups.every(({ value }) => value !== chosen))
    groups.unshift({ value: String(chosen), label: groupName({ script, variant }) });
  return (
    <div className={css.filters}>
      <TypedFilter name="q" url={url} label={t('runs.search')} icon={<IconSearch size={14} />} />
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
          set({ script: name, variant: own || undefined });
        }}
        data-testid="runs-script"
      />
      <Select
        size="xs"
        w={140}
        clearable
        aria-label={t('runs.usual')}
        placeholder={t('runs.anyVerdict')}
        value={filters.verdict ?? null}
        data={VERDICTS.map((value) => ({ value, label: t(`runs.verdicts.${value}`) }))}
        onChange={(value) => set({ verdict: value ?? undefined })}
        data-testid="runs-verdict"
      />
      <Select
        size="xs"
        w={140}
        clearable
        aria-label={t('runs.outcome')}
        placeholder={t('runs.anyOutcome')}
        value={filters.outcome ?? null}
        data={OUTCOMES.map((value) => ({ value, label: stateName(value) }))}
        onChange={(value) => set({ outcome: value ?? undefined })}
        data-testid="runs-outcome"
      />
      <TypedFilter name="tag" url={url} label={t('runs.withTagHint')} icon={<IconTag size={14} />} />
      <span className={`${words.dim} ${words.small} ${css.count}`} data-testid="runs-count">
        {t('runs.count', { n: count(page.items.length), of: count(page.total) })}
        {page.total > page.items.length && ` ${t('runs.more')}`}
        {page.pending > 0 && ` · ${t('runs.pending', { n: count(page.pending) })}`}
      </span>
    </div>
  );
}

function TypedFilter(props: { name: 'q' | 'tag'; url: RunsUrl; label: string; icon: React.ReactNode }) {
  const { name, url } = props;
  const [typed, setTyped] = useTypedText(url.filters[name] ?? '', (wanted) =>
    go(
      { ...url, filters: { ...url.filters, [name]: wanted || undefined } },
      { replace: !!url.filters[name] },
    ),
  );
  return (
    <TextInput
      size="xs"
      w={name === 'q' ? 270 : 250}
      placeholder={props.label}
      aria-label={props.label}
      value={typed}
      onChange={(event) => setTyped(event.currentTarget.value)}
      leftSection={props.icon}
      data-testid={`runs-${name}`}
    />
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
