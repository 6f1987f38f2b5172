import { Badge, Group, Loader, SegmentedControl } from '@mantine/core';
import { IconFunction } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { TFunction } from 'i18next';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { refreshEnded } from '../../api/connection';
import { answerTo } from '../../api/queries';
import type { CompareAnswer, FunctionChange, FunctionSide } from '../../api/schema';
import { bytes, changeText, count, duration, short } from '../../base/format';
import { REPORT } from '../../base/report';
import type { CompareUrl } from '../../base/url';
import { Dash } from '../../ui/Dash';
import { Duration } from '../../ui/Duration';
import { EmptyState } from '../../ui/EmptyState';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { type Column, sortRows } from '../../ui/table/columns';
import { DataTable } from '../../ui/table/DataTable';
import { TableMenu } from '../../ui/table/TableMenu';
import words from '../../ui/theme/words.module.css';
import css from './ComparePage.module.css';
import { tasksOf } from './tasksOf';

/** Number of rows that are on screen without scrolling. */
const ROWS = 14;
/** A smaller common change is not mentioned. */
const MIN_COMMON = 0.02;

const WAYS = ['name', 'path'] as const;
type Way = (typeof WAYS)[number];

/** The functions of both sides by name or by call path. */
export function Functions({ answer, url }: { answer: CompareAnswer; url: CompareUrl }) {
  const { t } = useTranslation();
  const [by, setBy] = useState<Way>('name');
  const { a, b, margin, skip_first, lang } = url;
  const byPath = useQuery({
    ...answerTo('/compare', { a, b, margin, skip_first, functions_by: 'path' }),
    enabled: by === 'path',
    refetchInterval: refreshEnded,
  });
  const shown = by === 'path' ? byPath.data : answer;
  return (
    <section className={css.panel} data-testid="compare-functions">
      <div className={css.functionsHead}>
        <h2>
          {t('compare.functions')}{' '}
          <span className={words.dim}>
            {shown && ` · ${t(`compare.hintBy.${by}`, { n: count(shown.functions.length) })}`}
            {shown &&
              shown.functions_left_out > 0 &&
              ` · ${t('compare.leftOut', { n: count(shown.functions_left_out) })}`}
          </span>
        </h2>
        <SegmentedControl
          size="xs"
          aria-label={t('compare.functionsBy')}
          data-testid="compare-functions-by"
          value={by}
          onChange={(value) => setBy(value)}
          data={WAYS.map((value) => ({ value, label: t(`compare.by.${value}`) }))}
        />
      </div>
      {shown !== undefined ? (
        <FunctionTable key={by} answer={shown} by={by} lang={lang} />
      ) : byPath.error !== null ? (
        <ErrorPanel error={byPath.error} onRetry={() => void byPath.refetch()} />
      ) : (
        <Loader size="sm" m="md" />
      )}
    </section>
  );
}

/** The functions, those with a verdict first. */
function FunctionTable({ answer, by, lang }: { answer: CompareAnswer; by: Way; lang?: string }) {
  const { t } = useTranslation();
  const [sort, setSort] = useState<string>();
  const { a, b, functions, common } = answer;
  const columns = useMemo(() => columnsOf(t, by), [t, by]);
  const rows = useMemo(() => sorted(functions, sort), [functions, sort]);
  const linkOf = (row: FunctionChange) =>
    tasksOf(row.b === null ? a.shown : b.shown, by === 'path' ? lastOf(row.name) : row.name, lang);
  return (
    <>
      <Group justify="space-between" mb={6}>
        {Math.abs(common - 1) >= MIN_COMMON && (
          <p data-testid="compare-common">{t('compare.common', { change: changeText(common) })}</p>
        )}
        <span className={css.menu}>
          <TableMenu
            name="functions-compared"
            columns={columns}
            list={{ rows, total: rows.length + answer.functions_left_out }}
          />
        </span>
      </Group>
      <DataTable
        testId="compare-function-table"
        rowTestId="compare-function"
        kindOf={(row) => row.verdict}
        label={t('compare.functions')}
        columns={columns}
        maxRows={ROWS}
        rows={rows}
        keyOf={keyOf}
        sort={sort}
        onSort={setSort}
        linkOf={REPORT === null ? linkOf : undefined}
        empty={<EmptyState icon={<IconFunction size={26} />} title={t('compare.noFunctions')} />}
      />
    </>
  );
}

/** The function at the end of a call path. */
const lastOf = (path: string) => path.split(' › ').at(-1) ?? path;

const keyOf = (row: FunctionChange) => row.name;

/** Values by which the table can be sorted. Those of two sides are sorted by B's. */
const VALUES: Record<string, (row: FunctionChange) => number | string | null> = {
  name: (row) => row.name,
  verdict: (row) => row.verdict,
  own: (row) => row.ratio,
  mean: (row) => row.b?.mean_ns ?? null,
  attempts: (row) => row.b?.attempts ?? null,
  total: (row) => row.change_ns,
  cpu: (row) => row.b?.cpu_ns ?? null,
  memory: (row) => row.b?.peak_memory ?? null,
  input: (row) => row.b?.input_bytes ?? null,
};

export const sorted = (rows: readonly FunctionChange[], sort: string | undefined) =>
  sortRows(rows, sort, (row, field) => VALUES[field]?.(row));

/** A column with a value of each side: `29.5 ms → 55.0 ms`. */
function pair(
  t: TFunction,
  id: 'mean' | 'attempts' | 'cpu' | 'memory' | 'input',
  width: number,
  figure: (side: FunctionSide) => number | null,
  format: (value: number) => string,
): Column<FunctionChange> {
  const text = (side: FunctionSide | null) => {
    if (side === null) return '–';
    const value = figure(side);
    return value === null ? t('compare.notRecorded') : format(value);
  };
  return {
    id,
    header: t(`compare.${id}`),
    hint: t(`compare.${id}Hint`),
    width,
    align: 'right',
    sort: id,
    value: ({ a, b }) => ({ a: a && figure(a), b: b && figure(b) }),
    cell: ({ a, b }) => {
      const [before, after] = [text(a), text(b)];
      const isUnknown = [a, b].every((side) => side === null || figure(side) === null);
      if (isUnknown) return <span className={words.dim}>{t('compare.notRecorded')}</span>;
      return (
        <span className={words.num} title={`${before} → ${after}`}>
          {before} → {after}
        </span>
      );
    },
  };
}

const columnsOf = (t: TFunction, by: Way): Column<FunctionChange>[] => [
  {
    id: 'name',
    header: t(`compare.by.${by}`),
    width: 164,
    grow: true,
    sort: 'name',
    cell: (row) => (
      <span className={css.function}>
        <span
          className={`${words.ellipsis} ${words.name} ${by === 'path' ? css.callPath : ''}`}
          title={by === 'path' ? row.name : [row.module, row.name].filter(Boolean).join('.')}
        >
          <bdi>{row.name}</bdi>
        </span>
        {row.renamed_from !== null && (
          <Badge
            size="xs"
            variant="default"
            tt="none"
            className={css.renamed}
            title={t('compare.renamedHint', { name: row.renamed_from })}
          >
            {t('compare.renamed')}
          </Badge>
        )}
      </span>
    ),
  },
  {
    id: 'verdict',
    header: t('compare.verdictColumn'),
    width: 96,
    sort: 'verdict',
    cell: ({ verdict }) => (
      <span className={css.verdict} data-verdict={verdict}>
        {t(`compare.functionVerdict.${verdict}`)}
      </span>
    ),
  },
  {
    id: 'own',
    header: t('compare.own'),
    hint: t('compare.ownHint'),
    width: 98,
    align: 'right',
    sort: 'own',
    field: 'ratio',
    cell: ({ ratio, own_ratio: own }) =>
      ratio === null ? (
        <Dash />
      ) : (
        <span
          className={words.num}
          title={own === null ? undefined : t('compare.ownBeyond', { change: changeText(own) })}
        >
          {changeText(ratio)}
        </span>
      ),
  },
  pair(t, 'mean', 164, (side) => side.mean_ns, duration),
  pair(t, 'attempts', 110, (side) => side.attempts, short),
  {
    id: 'total',
    header: t('compare.totalChange'),
    hint: t('compare.totalChangeHint'),
    width: 122,
    align: 'right',
    sort: 'total',
    field: 'change_ns',
    cell: ({ change_ns: change }) => (
      <span className={words.num}>
        {change > 0 && '+'}
        <Duration ns={change} />
      </span>
    ),
  },
  pair(t, 'cpu', 164, (side) => side.cpu_ns, duration),
  pair(t, 'memory', 174, (side) => side.peak_memory, bytes),
  pair(
    t,
    'input',
    190,
    (side) => side.input_bytes,
    (value) => bytes(Math.round(value)),
  ),
];
