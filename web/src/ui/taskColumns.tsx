import type { TFunction } from 'i18next';
import type { TaskItem } from '../api/schema';
import { CopyId } from './CopyId';
import { Dash } from './Dash';
import { Duration } from './Duration';
import { GpuUse } from './GpuUse';
import { JobName } from './JobName';
import { NodeLabel } from './NodeLabel';
import { PeakMemory } from './PeakMemory';
import { TaskState } from './TaskState';
import { Time } from './Time';
import { type Column, TIME_WIDTH } from './table/columns';
import words from './theme/words.module.css';

export const taskKey = (task: TaskItem) => `${task.task_id}:${task.attempt}`;

export function useTypeName(t: TFunction, exists: (key: string) => boolean): (type: string | null) => string {
  return (type) =>
    type === null ? '–' : exists(`type.${type}`) ? t(`type.${type}` as 'type.DRIVER_TASK') : type;
}

function TaskName({ task }: { task: { name: string | null; func_name?: string | null; task_id: string } }) {
  const name = task.name ?? task.func_name;
  return name ? (
    <span className={`${words.ellipsis} ${words.name}`} title={name}>
      {name}
    </span>
  ) : (
    <span className={`${words.ellipsis} ${words.dim} ${words.mono}`} title={task.task_id}>
      {task.task_id}
    </span>
  );
}

const text = (value: string | null) =>
  value ? (
    <span className={words.ellipsis} title={value}>
      {value}
    </span>
  ) : (
    <Dash />
  );

/** Whether a task is a driver's own. Ray's id of such a task consists of f's and the job id. */
export const isDriver = (taskId: string | null) => taskId !== null && /^f{40}/i.test(taskId);

const timeColumn = (t: TFunction, time: 'duration' | 'waiting' | 'total'): Column<TaskItem> => ({
  id: time,
  header: t(`time.${time}`),
  hint: t(`timeHint.${time}`),
  width: 92,
  align: 'right',
  sort: `${time}_ns`,
  cell: (task) => <Duration ns={task[`${time}_ns`]} />,
});

/** The columns of the task table. `jobs`: the number of jobs of the session. */
export function taskColumns(
  t: TFunction,
  typeName: (type: string | null) => string,
  jobs: number,
): Column<TaskItem>[] {
  return [
    {
      id: 'state',
      header: t('column.state'),
      width: 164,
      sort: 'state',
      cell: (task) => <TaskState state={task.state} of={task} />,
    },
    {
      id: 'name',
      header: t('column.name'),
      width: 200,
      grow: true,
      sort: 'name',
      cell: (task) => <TaskName task={task} />,
    },
    timeColumn(t, 'duration'),
    timeColumn(t, 'waiting'),
    { ...timeColumn(t, 'total'), optional: true },
    {
      id: 'cpu',
      header: t('column.cpu'),
      width: 92,
      align: 'right',
      optional: true,
      cell: (task) => <Duration ns={task.cpu_ns} />,
    },
    {
      id: 'peak_memory',
      header: t('column.peakMemory'),
      hint: t('peakMemory.hint'),
      width: 128,
      align: 'right',
      sort: 'peak_memory',
      optional: true,
      cell: (task) => <PeakMemory attempt={task} />,
    },
    {
      id: 'gpu_busy',
      header: t('column.gpuBusy'),
      hint: t('gpuUse.hint'),
      width: 152,
      align: 'right',
      optional: true,
      cell: (task) => <GpuUse use={task} />,
    },
    {
      id: 'created',
      header: t('column.created'),
      width: TIME_WIDTH,
      sort: 'created_ns',
      cell: (task) => <Time ns={task.created_ns} />,
    },
    {
      id: 'start',
      header: t('column.start'),
      width: TIME_WIDTH,
      sort: 'start_ns',
      optional: true,
      cell: (task) => <Time ns={task.start_ns} />,
    },
    {
      id: 'end',
      header: t('column.end'),
      width: TIME_WIDTH,
      sort: 'end_ns',
      optional: true,
      cell: (task) => <Time ns={task.end_ns} />,
    },
    {
      id: 'type',
      header: t('column.type'),
      width: 112,
      needed: (task) => task.type !== 'NORMAL_TASK',
      cell: (task) => text(typeName(task.type)),
    },
    {
      id: 'attempt',
      header: t('column.attempt'),
      width: 68,
      align: 'right',
      needed: (task) => task.attempt > 0,
      cell: (task) => (
        <span className={task.attempt > 0 ? words.num : `${words.num} ${words.dim}`}>{task.attempt}</span>
      ),
    },
    {
      id: 'func_name',
      header: t('column.func_name'),
      width: 200,
      optional: true,
      cell: (task) => text(task.func_name),
    },
    { id: 'task_id', header: t('column.task_id'), width: 112, cell: (task) => <CopyId id={task.task_id} /> },
    { id: 'node', header: t('column.node'), width: 132, cell: (task) => <NodeLabel id={task.node_id} /> },
    {
      id: 'pid',
      field: 'worker_pid',
      header: t('column.pid'),
      width: 72,
      align: 'right',
      cell: (task) =>
        task.worker_pid === null ? <Dash /> : <span className={words.num}>{task.worker_pid}</span>,
    },
    {
      id: 'worker',
      header: t('column.worker'),
      width: 104,
      optional: true,
      cell: (task) => <CopyId id={task.worker_id} />,
    },
    {
      id: 'job',
      header: t('column.job'),
      width: 140,
      optional: jobs < 2,
      cell: (task) => <JobName id={task.job_id} />,
    },
    {
      id: 'actor',
      header: t('column.actor'),
      width: 104,
      optional: true,
      cell: (task) => <CopyId id={task.actor_id} />,
    },
    {
      id: 'parent',
      field: 'caller_task_id',
      header: t('column.parent'),
      width: 112,
      optional: true,
      cell: (task) =>
        isDriver(task.caller_task_id) ? (
          <span className={words.ellipsis} title={task.caller_task_id ?? undefined}>
            {t('task.driver')}
          </span>
        ) : (
          <CopyId id={task.caller_task_id} />
        ),
    },
    {
      id: 'placement_group',
      header: t('column.placement_group'),
      width: 112,
      optional: true,
      cell: (task) => <CopyId id={task.placement_group_id} />,
    },
    {
      id: 'error_type',
      header: t('column.error_type'),
      width: 160,
      optional: true,
      cell: (task) => text(task.error_type),
    },
  ];
}
