import { IconCircleCheck, IconListDetails } from '@tabler/icons-react';
import { useCallback, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { useSessionInterval } from '../api/queries';
import type { Summary, Task } from '../api/types';
import { useLiveList } from '../api/useLiveList';
import { useSessionUrl } from '../app/useUrl';
import type { Column } from '../components/columns';
import { ColumnChooser, useColumnChoice } from '../components/DataTable';
import { LiveTable, TableCount, useSort } from '../components/LiveTable';
import { Empty } from '../components/small';
import { FilterBar } from './FilterBar';
import { failureColumns, taskColumns, taskKey, useTypeName } from './taskColumns';

export function TasksView({ summary }: { summary: Summary | undefined }) {
  const { t, i18n } = useTranslation();
  const typeName = useTypeName(t, i18n.exists);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the texts change with the language alone.
  const columns = useMemo(() => taskColumns(t, typeName), [t, i18n.language]);
  return (
    <TaskList
      id="tasks"
      label={t('nav.tasks')}
      columns={columns}
      order="-created_ns"
      summary={summary}
      empty={
        <Empty icon={<IconListDetails size={26} />} title={t('table.empty')}>
          {t('table.emptyLive')}
        </Empty>
      }
    />
  );
}

export function FailuresView({ summary }: { summary: Summary | undefined }) {
  const { t, i18n } = useTranslation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the texts change with the language alone.
  const columns = useMemo(() => failureColumns(t), [t, i18n.language]);
  return (
    <TaskList
      id="failures"
      label={t('nav.failures')}
      columns={columns}
      order="-end_ns"
      state="FAILED"
      summary={summary}
      empty={
        <Empty icon={<IconCircleCheck size={26} />} title={t('failures.empty')}>
          {t('failures.emptyText')}
        </Empty>
      }
    />
  );
}

function TaskList(props: {
  id: string;
  label: string;
  columns: Column<Task>[];
  order: string;
  state?: string;
  summary: Summary | undefined;
  empty: React.ReactNode;
}) {
  const [url, change] = useSessionUrl();
  const interval = useSessionInterval(url.session);
  const [sort, onSort] = useSort(props.order);
  const params = {
    session: url.session,
    ...url.filters,
    ...(props.state ? { state: props.state } : {}),
    sort,
  };
  const list = useLiveList<Task>('/tasks', params, taskKey, interval);
  const choice = useColumnChoice(props.id, props.columns);

  const openKey = useMemo(() => {
    if (url.task === undefined) return undefined;
    const rows = list.rows.filter((row) => row.task_id === url.task);
    const row = rows.find((candidate) => candidate.attempt === url.attempt) ?? rows[0];
    return row === undefined ? `${url.task}:` : taskKey(row);
  }, [list.rows, url.task, url.attempt]);

  const open = useCallback(
    (task: Task, how: { follow: boolean }) =>
      change((before) => ({ ...before, task: task.task_id, attempt: task.attempt }), { replace: how.follow }),
    [change],
  );
  return (
    <>
      <FilterBar
        summary={props.summary}
        hide={props.state ? ['state'] : []}
        right={
          <>
            <TableCount list={list} loaded />
            <ColumnChooser columns={props.columns} choice={choice} />
          </>
        }
      />
      <LiveTable
        list={list}
        choice={choice}
        testId={props.id === 'tasks' ? 'task-table' : 'failure-table'}
        rowTestId="task-row"
        label={props.label}
        columns={props.columns}
        keyOf={taskKey}
        sort={sort}
        onSort={onSort}
        openKey={openKey}
        onOpen={open}
        empty={props.empty}
      />
    </>
  );
}
