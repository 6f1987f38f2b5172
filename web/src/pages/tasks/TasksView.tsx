import { IconListDetails } from '@tabler/icons-react';
import { useCallback, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { useSessionInterval } from '../../api/queries';
import type { Summary, TaskItem } from '../../api/schema';
import { useLiveList } from '../../api/useLiveList';
import { taskFilters } from '../../base/url';
import { EmptyState } from '../../ui/EmptyState';
import { FilterBar } from '../../ui/FilterBar';
import { useSession } from '../../ui/session';
import { LiveTable, useSort } from '../../ui/table/LiveTable';
import { TableCount } from '../../ui/table/TableCount';
import { TableMenu, useColumnChoice } from '../../ui/table/TableMenu';
import { taskColumns, taskKey, useTypeName } from '../../ui/taskColumns';
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
