import { Badge, Checkbox } from '@mantine/core';
import type { TFunction } from 'i18next';
import type { RunItem } from '../../api/schema';
import { bytes, count, duration, percent } from '../../base/format';
import { addressOf, type RunsUrl } from '../../base/url';
import { Dash } from '../../ui/Dash';
import { Duration } from '../../ui/Duration';
import { ItemState } from '../../ui/ItemState';
import { Link } from '../../ui/Link';
import { toTrend } from '../../ui/runs/SlowerMark';
import { Time } from '../../ui/Time';
import { type Column, TIME_WIDTH } from '../../ui/table/columns';
import words from '../../ui/theme/words.module.css';
import { RunLink } from './RunLink';
import css from './RunsPage.module.css';

export const groupName = ({ script, variant }: Pick<RunItem, 'script' | 'variant'>) =>
  [script, variant].filter(Boolean).join(' · ');

export const runColumns = (
  t: TFunction,
  url: RunsUrl,
  ticked: ReadonlySet<string>,
  onTick: (run: RunItem) => void,
): Column<RunItem>[] => {
  const figure = (
    id: 'cpu' | 'gpu' | 'memory',
    field: 'cpu_ns' | 'gpu_ns' | 'peak_memory',
    format: (value: number) => string,
  ): Column<RunItem> => ({
    id,
    header: t(`runs.${id}`),
    hint: t(`runs.${id}Hint`),
    width: id === 'memory' ? 114 : 88,
    align: 'right',
    sort: field,
    cell: ({ [field]: value }) =>
      value === null ? <Dash /> : <span className={words.num}>{format(value)}</span>,
  });
  return [
    {
      id: 'tick',
      header: '',
      hint: t('table.ticked'),
      width: 30,
      cell: (run) =>
        run.has_record && (
          <Checkbox
            size="xs"
            checked={ticked.has(addressOf(run))}
            onChange={() => onTick(run)}
            onClick={(event) => event.stopPropagation()}
            aria-label={t('runs.tick', { name: run.name || run.job_id })}
            data-testid="run-tick"
          />
        ),
    },
    {
      id: 'started',
      header: t('runs.started'),
      width: TIME_WIDTH,
      sort: 'begin_ns',
      cell: (run) => (
        <RunLink run={run} lang={url.lang} testId={run.has_record ? 'run-open' : undefined}>
          <Time ns={run.begin_ns} />
        </RunLink>
      ),
    },
    {
      id: 'script',
      header: t('runs.script'),
      width: 150,
      grow: true,
      sort: 'script',
      cell: (run) =>
        run.script ? (
          <Link
            to={toTrend(run, url.lang)}
            className={`${words.link} ${words.ellipsis}`}
            title={run.name}
            testId="run-script"
          >
            {run.script}
          </Link>
        ) : (
          <span className={`${words.dim} ${words.ellipsis}`}>{run.job_id}</span>
        ),
    },
    {
      id: 'tags',
      header: t('runs.tags'),
      width: 140,
      needed: ({ tags, baseline, left_out }) => tags.length > 0 || baseline || left_out,
      cell: (run) => <Tags run={run} url={url} t={t} />,
    },
    {
      id: 'outcome',
      header: t('runs.outcome'),
      width: 112,
      sort: 'outcome',
      cell: (run) => <ItemState state={run.outcome} view="jobs" />,
    },
    {
      id: 'took',
      header: t('runs.took'),
      width: 84,
      align: 'right',
      sort: 'duration_ns',
      cell: (run) => <Duration ns={run.duration_ns} />,
    },
    {
      id: 'usual',
      field: 'verdict',
      header: t('runs.usual'),
      hint: t('runs.usualHint'),
      width: 156,
      cell: (run) => <Verdict run={run} t={t} />,
    },
    {
      id: 'tasks',
      header: t('runs.tasks'),
      width: 74,
      align: 'right',
      sort: 'tasks',
      cell: (run) => <span className={words.num}>{count(run.tasks)}</span>,
    },
    {
      id: 'failed',
      header: t('runs.failed'),
      width: 128,
      align: 'right',
      sort: 'failed',
      cell: ({ failed }) => (
        <span className={words.num} data-zero={failed === 0 || undefined} data-bad={failed > 0 || undefined}>
          {count(failed)}
        </span>
      ),
    },
    figure('cpu', 'cpu_ns', duration),
    { ...figure('gpu', 'gpu_ns', duration), needed: ({ gpu_ns }) => gpu_ns !== null && gpu_ns > 0 },
    figure('memory', 'peak_memory', bytes),
    {
      id: 'cluster',
      header: t('runs.cluster'),
      width: 100,
      cell: ({ cluster }) =>
        cluster === null ? (
          <Dash />
        ) : (
          <Link
            to={{ ...url, filters: { ...url.filters, cluster } }}
            className={`${words.link} ${words.ellipsis}`}
          >
            {cluster}
          </Link>
        ),
    },
  ];
};

/** The tags and marks of a run. A click on a tag filters by it. */
function Tags({ run, url, t }: { run: RunItem; url: RunsUrl; t: TFunction }) {
  return (
    <span className={css.tags} title={run.tags.join(', ') || undefined}>
      {run.baseline && (
        <Badge size="sm" variant="light" tt="none">
          {t('runs.baseline')}
        </Badge>
      )}
      {run.left_out && (
        <Badge size="sm" variant="light" color="gray" tt="none">
          {t('runs.leftOut')}
        </Badge>
      )}
      {run.tags.map((tag) => (
        <Link key={tag} to={{ ...url, filters: { ...url.filters, tag } }} className={css.tag}>
          {tag}
        </Link>
      ))}
    </span>
  );
}

function Verdict({ run, t }: { run: RunItem; t: TFunction }) {
  const { verdict, reason, ratio, usual } = run;
  const hint =
    usual === null
      ? undefined
      : t('runs.usualRange', {
          low: duration(usual.low_ns),
          high: duration(usual.high_ns),
          n: count(usual.runs),
        });
  const text =
    verdict === 'unknown' && reason !== null
      ? t(`runs.reason.${reason}`)
      : t(`runs.verdict.${verdict}`, { change: ratio === null ? '' : `${percent(Math.abs(ratio - 1))}%` });
  return (
    <span className={`${css.verdict} ${words.ellipsis}`} data-verdict={verdict} title={hint ?? text}>
      {text}
    </span>
  );
}
