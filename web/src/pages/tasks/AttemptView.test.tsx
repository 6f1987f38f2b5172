import { screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import type { AttemptDetail, SchedulingItem, TaskDetail } from '../../api/schema';
import { time } from '../../base/format';
import { render } from '../../testing/render';
import { DataFlow } from './DataFlow';
import { Scheduling } from './Scheduling';
import { Waits } from './Waits';

const TASK_ID = `${'a'.repeat(40)}01000000`;
const DRIVER = `${'f'.repeat(40)}01000000`;
const BEGIN = 1_767_225_600_000_000_000;
const MS = 1_000_000;

const SCHEDULING: SchedulingItem = {
  waiting_args_ns: 0,
  waiting_node_ns: 250 * MS,
  starting_worker_ns: null,
  queued_ns: 0,
  loading_ns: 0,
  fetching_ns: 0,
  executing_ns: 500 * MS,
  awaiting_ns: 0,
  cpu_ns: null,
  blocked_ns: 250 * MS,
  storing_ns: 0,
  task_id: TASK_ID,
  attempt: 1,
  func_name: 'leaf',
  type: 'NORMAL_TASK',
  state: 'FINISHED',
  job_id: '01000000',
  total_ns: 1000 * MS,
  node_id: null,
  submitter_node_id: null,
  is_local: false,
  waiting_ns: 250 * MS,
  duration_ns: 750 * MS,
};
const ATTEMPT = {
  task_id: TASK_ID,
  attempt: 1,
  created_ns: BEGIN,
  end_ns: BEGIN + 1000 * MS,
  phases: [
    { name: 'total', begin_ns: BEGIN + 250 * MS, end_ns: BEGIN + 1000 * MS },
    { name: 'execute', begin_ns: BEGIN + 250 * MS, end_ns: BEGIN + 1000 * MS },
  ],
} as AttemptDetail;
const TASK: TaskDetail = {
  task_id: TASK_ID,
  attempts: [ATTEMPT],
  parent: null,
  call_path: ['leaf'],
  children: [],
  children_total: 0,
  spans: [],
  spans_total: 0,
  data_in: [],
  data_in_total: 0,
  data_in_bytes: 0,
  waits_for: [],
  data_out: [],
  data_out_total: 0,
  data_out_bytes: 0,
  annotations: [],
  scheduling: [{ ...SCHEDULING, attempt: 0, total_ns: 1 }, SCHEDULING],
};
const rows = (testId: string) =>
  within(screen.getByTestId(testId))
    .getAllByRole('row')
    .map((row) =>
      within(row)
        .getAllByRole('cell')
        .map((cell) => cell.textContent),
    );

it('shows where the time of an attempt went', async () => {
  await render(<Scheduling task={TASK} attempt={ATTEMPT} />);
  expect(screen.getByTestId('task-total').textContent).toBe(
    '1.00 s · ran on a different node than the one that submitted it',
  );
  expect(screen.getByTestId('task-mostly').textContent).toBe('50% of this was spent executing.');
  const [execute, ...others] = screen.getByTestId('task-phases').children;
  expect(others).toHaveLength(0);
  const { left, width } = (execute as HTMLElement).style;
  expect([left, width].map((part) => Math.round(Number.parseFloat(part)))).toEqual([25, 75]);
  const found = Object.fromEntries(rows('task-scheduling').map(([name, ...rest]) => [name, rest]));
  expect(found['Waiting for resources']).toEqual(['250 ms', '25%']);
  expect(found.Executing).toEqual(['500 ms', '50%']);
  expect(found.Blocked).toEqual(['250 ms', '25%']);
  expect(found['Starting worker']).toEqual(['–', '']);
});

it('marks the time of a running attempt as ongoing, and shows nothing without times', async () => {
  const { rerender } = await render(<Scheduling task={TASK} attempt={{ ...ATTEMPT, end_ns: null }} />);
  expect(screen.getByTestId('task-total').textContent).toContain('so far');
  rerender(<Scheduling task={TASK} attempt={{ ...ATTEMPT, attempt: 7 }} />);
  expect(screen.queryByTestId('task-scheduling')).toBeNull();
});

it('shows since when an attempt without a worker has waited, without empty phases', async () => {
  const waiting = {
    ...ATTEMPT,
    reported_state: 'PENDING_NODE_ASSIGNMENT',
    start_ns: null,
    states: [{ state: 'PENDING_NODE_ASSIGNMENT', time_ns: BEGIN }],
  };
  const unplaced = { ...SCHEDULING, waiting_node_ns: 1000 * MS, executing_ns: null, blocked_ns: null };
  const task = { ...TASK, scheduling: [unplaced] };
  const { rerender } = await render(<Scheduling task={task} attempt={waiting} />);
  expect(screen.getByTestId('task-mostly').textContent).toBe(
    `Never scheduled: waited for resources since ${time(BEGIN)}.`,
  );
  expect(rows('task-scheduling')).toEqual([['Waiting for resources', '1.00 s', '100%']]);
  rerender(<Scheduling task={task} attempt={{ ...waiting, end_ns: null }} />);
  expect(screen.getByTestId('task-mostly').textContent).toMatch(/^Not scheduled yet: waiting for resources/);
});

it('lists the longest waits of the attempt, open ones first, with the awaited tasks', async () => {
  const span = (name: string, ms: number | null, blocked_on: string[] | null, attempt = 1) => ({
    name,
    attempt,
    begin_ns: BEGIN,
    end_ns: ms === null ? null : BEGIN + ms * MS,
    extra: null,
    blocked_on,
  });
  const taskIds = Array.from({ length: 5 }, (_, at) => `${at}`.repeat(48));
  const spans = [
    ...Array.from({ length: 12 }, (_, at) => span('ray.get', at + 1, ['b'.repeat(48)])),
    span('ray.wait', 500, taskIds),
    span('ray.get', null, ['c'.repeat(48)]),
    span('execute', 900, null),
    span('ray.get', 900, ['d'.repeat(48)], 0),
    { ...span('ray.get', 1, null), extra: '{"calls":1500,"ns":2}' },
  ];
  await render(<Waits task={{ ...TASK, spans }} attempt={1} />);
  const found = rows('task-waits');
  expect(found).toHaveLength(10);
  expect(found[0]).toEqual(['ray.get', 'cccccccc…', 'ongoing']);
  expect(found[1]?.[1]).toContain('and 2 more');
  expect(found[1]?.[2]).toBe('500 ms');
  expect(found[2]?.[2]).toBe('12.0 ms');
  expect(screen.getByTestId('task-waits').textContent).toContain('Longest 10 of 14');
  expect(screen.getByTestId('task-waits').textContent).toContain('1,500');
});

it('names the producer and the consumer of an object, and links to them', async () => {
  const edge = {
    producer_task_id: DRIVER,
    producer_name: null,
    consumer_task_id: TASK_ID,
    consumer_name: 'leaf',
    object_id: '0'.repeat(56),
    bytes: 2_000_000,
    kind: 'argument',
    nested: false,
    by_value: false,
    begin_ns: BEGIN,
    end_ns: BEGIN,
    gets: 1,
    blocked_ns: null,
    is_remote: true,
  };
  const lost = { ...edge, consumer_task_id: null, consumer_name: null, bytes: null };
  await render(
    <DataFlow
      task={{
        ...TASK,
        data_in: [edge],
        data_in_total: 3,
        data_in_bytes: 6_000_000,
        data_out: [lost],
        data_out_total: 1,
      }}
    />,
  );
  const input = screen.getByTestId('task-data-in');
  expect(input.textContent).toContain('5.72 MiB');
  expect(
    within(input)
      .getByRole('link', { name: /Driver/ })
      .getAttribute('href'),
  ).toContain(`task=${DRIVER}`);
  expect(within(screen.getByTestId('task-data-out')).queryByRole('link')).toBeNull();
});
