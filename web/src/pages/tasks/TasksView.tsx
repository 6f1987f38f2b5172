import { IconListDetails } from '@tabler/icons-react';
import { useCallback, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { useJobChoices, useSessionInterval } from '../../api/queries';
import { useRun } from '../../api/runs';
import type { Summary, TaskItem } from '../../api/schema';
import { useLiveList } from '../../api/useLiveList';
import { taskFilters, withFilter } from '../../base/url';
import { EmptyState } from '../../ui/EmptyState';
import { FilterBar } from '../../ui/FilterBar';
import { Link } from '../../ui/Link';
import { toTrend } from '../../ui/runs/SlowerMark';
import { useSession } from '../../ui/session';
import { LiveTable, useSort } from '../../ui/table/LiveTable';
import { TableCount } from '../../ui/table/TableCount';
import { TableMenu, useColumnChoice } from '../../ui/table/TableMenu';
import { taskColumns, taskKey, useTypeName } from '../../ui/taskColumns';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';

export default function TasksView({ summary }: { summary: Summary | undefined }) {
  const { t, i18n } = useTranslation();
  const jobs = useSession(useSessionUrl()[0].session)?.jobs ?? 0;
  const typeName = useTypeName(t, i18n.exists);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the texts change with the language alone.
  const columns = useMemo(() => taskColumns(t, typeName, jobs), [t, i18n.language, jobs]);
  const [url, change] = useSessionUrl();
  const interval = useSessionInterval(url.session);
  const [sort, onSort] = useSort('-created_ns');
  const params = { session: url.session, ...taskFilters(url.filters), sort };
  const list = useLiveList('/tasks', params, taskKey, interval);
  const choice = useColumnChoice('tasks', columns, list.rows);

  const openKey = useMemo(() => {
    if (url.task === undefined) return undefined;
    const rows = list.rows.filter((row) => row.task_id === url.task);
    const row = rows.find((candidate) => candidate.attempt === url.attempt) ?? rows[0];
    return row === undefined ? `${url.task}:` : taskKey(row);
  }, [list.rows, url.task, url.attempt]);

  const open = useCallback(
    (task: TaskItem, how: { follow: boolean }) =>
      change((before) => ({ ...before, task: task.task_id, attempt: task.attempt }), { replace: how.follow }),
    [change],
  );
  return (
    <>
      <FilterBar
        summary={summary}
        options={<FunctionRuns />}
        count={<TableCount list={list} loaded />}
        menu={<TableMenu name="tasks" columns={columns} choice={choice} list={list} />}
      />
      <LiveTable
        list={list}
        choice={choice}
        testId="task-table"
        rowTestId="task-row"
        label={t('nav.tasks')}
        columns={columns}
        keyOf={taskKey}
        sort={sort}
        onSort={onSort}
        openKey={openKey}
        onOpen={open}
        empty={
          <EmptyState icon={<IconListDetails size={26} />} title={t('table.empty')}>
            {t('table.emptyLive')}
          </EmptyState>
        }
      />
    </>
  );
}

/** A link to the runs of the function whose tasks are shown. It needs the job, whose runs these are, to have ended. */
function FunctionRuns() {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const { func_name, job_id } = url.filters;
  const jobs = useJobChoices(url.session).data?.items ?? [];
  const job = jobs.find((one) => one.job_id === job_id) ?? (jobs.length === 1 ? jobs[0] : undefined);
  const run = useRun(url.session, { job_id: job?.job_id ?? '', end_ns: job?.end_ns ?? null });
  if (!func_name || !run?.script) return null;
  return (
    <Link
      to={withFilter(toTrend(run, url.lang), 'function', func_name)}
      className={words.link}
      testId="function-runs"
    >
      {t('usual.runsOf')}
    </Link>
  );
}
