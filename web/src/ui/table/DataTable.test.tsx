import { screen, within } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import { click, press, render, type } from '../../testing/render';
import type { Column } from './columns';
import { DataTable, type DataTableProps } from './DataTable';
import { TableMenu, useColumnChoice } from './TableMenu';

interface Task {
  id: string;
  name: string;
}

const COLUMNS: Column<Task>[] = [
  { id: 'name', header: 'Name', width: 200, sort: 'name', cell: (task) => task.name },
  { id: 'id', header: 'Id', width: 100, optional: true, cell: (task) => task.id },
];
const keyOf = (task: Task) => task.id;
const tasks = (many: number): Task[] =>
  Array.from({ length: many }, (_, at) => ({ id: `t${at}`, name: `task ${at}` }));
const THREE = tasks(3);

function table(props: Partial<DataTableProps<Task>> = {}) {
  return (
    <DataTable
      testId="tasks"
      rowTestId="task"
      label="Tasks"
      columns={COLUMNS}
      visibility={{ name: true, id: false }}
      rows={THREE}
      keyOf={keyOf}
      empty={<p>No tasks yet</p>}
      {...props}
    />
  );
}

const header = () => screen.getByRole('columnheader', { name: /Name/ });
const selected = () => screen.queryByRole('row', { selected: true })?.dataset.key;

it('sorts by a column from the largest down, and then the other way', async () => {
  const onSort = vi.fn();
  const { rerender } = await render(table({ onSort }));
  expect(header().getAttribute('aria-sort')).toBeNull();
  await click(within(header()).getByRole('button'));
  expect(onSort).toHaveBeenLastCalledWith('-name');
  rerender(table({ onSort, sort: '-name' }));
  expect(header().getAttribute('aria-sort')).toBe('descending');
  await click(within(header()).getByRole('button'));
  expect(onSort).toHaveBeenLastCalledWith('name');
});

it('opens a row by a click, and by j, k and Enter', async () => {
  const onOpen = vi.fn();
  await render(table({ onOpen }));
  await click(screen.getByText('task 1'));
  expect(onOpen).toHaveBeenLastCalledWith(THREE[1], { follow: false });
  expect(selected()).toBe('t1');
  await press('j');
  expect(selected()).toBe('t2');
  await press('kk');
  expect(selected()).toBe('t0');
  await press('j');
  expect(selected()).toBe('t1');
  expect(onOpen).toHaveBeenCalledTimes(1);
  await press('k{Enter}');
  expect(onOpen).toHaveBeenLastCalledWith(THREE[0], { follow: false });
});

it('ticks the selected row by Space, which belongs to a button that has the focus', async () => {
  const [onOpen, onTick, onSort] = [vi.fn(), vi.fn(), vi.fn()];
  await render(table({ onOpen, onTick, onSort }));
  await press('jj ');
  expect(onTick.mock.lastCall?.[0]).toBe(THREE[1]);
  within(header()).getByRole('button').focus();
  await press(' ');
  expect(onTick).toHaveBeenCalledTimes(1);
  expect(onSort).toHaveBeenCalledTimes(1);
});

it('updates an open panel when the keys move the selection', async () => {
  const onOpen = vi.fn();
  await render(table({ onOpen, openKey: 't1' }));
  expect(selected()).toBe('t1');
  await press('{ArrowDown}');
  expect(onOpen).toHaveBeenLastCalledWith(THREE[2], { follow: true });
});

it('renders only the rows on screen, and requests more near the end', async () => {
  const onNearEnd = vi.fn();
  const { rerender } = await render(table({ rows: tasks(10_000), hasMore: true, onNearEnd }));
  expect(screen.getByRole('grid').getAttribute('aria-rowcount')).toBe('10000');
  expect(screen.getAllByTestId('task').length).toBeLessThan(60);
  expect(onNearEnd).not.toHaveBeenCalled();
  rerender(table({ hasMore: true, onNearEnd, loadingMore: true }));
  expect(onNearEnd).not.toHaveBeenCalled();
  expect(screen.getByText('Loading more')).toBeTruthy();
  rerender(table({ hasMore: true, onNearEnd }));
  expect(onNearEnd).toHaveBeenCalledTimes(1);
});

it('shows the empty state only after loading', async () => {
  const { rerender } = await render(table({ rows: [], loading: true }));
  expect(screen.getByTestId('table-loading')).toBeTruthy();
  expect(screen.queryByText('No tasks yet')).toBeNull();
  rerender(table({ rows: [] }));
  expect(screen.queryByTestId('table-loading')).toBeNull();
  expect(screen.getByText('No tasks yet')).toBeTruthy();
});

it('keeps new rows behind a button while a row is open', async () => {
  const onShowNew = vi.fn();
  const { rerender } = await render(table({ newRows: 5, onShowNew }));
  expect(screen.queryByTestId('new-rows')).toBeNull();
  rerender(table({ newRows: 200, newRowsMax: 200, onShowNew, openKey: 't0' }));
  expect(screen.getByTestId('new-rows').textContent).toContain('200+');
  await click(screen.getByTestId('new-rows'));
  expect(onShowNew).toHaveBeenCalledTimes(1);
});

it('remembers the chosen columns', async () => {
  function Chosen() {
    const choice = useColumnChoice('tasks', COLUMNS, THREE);
    return (
      <>
        <TableMenu name="tasks" columns={COLUMNS} choice={choice} list={{ rows: THREE }} />
        {table({ visibility: choice.visibility })}
      </>
    );
  }
  const { unmount } = await render(<Chosen />);
  expect(screen.queryByRole('columnheader', { name: 'Id' })).toBeNull();
  await click(screen.getByTestId('table-menu'));
  await click(screen.getByLabelText('Id'));
  expect(screen.getByRole('columnheader', { name: 'Id' })).toBeTruthy();
  unmount();
  await render(<Chosen />);
  expect(screen.getByRole('columnheader', { name: 'Id' })).toBeTruthy();
});

it('saves the filters, the order and the columns under a name', async () => {
  const at = '/s/session_1?q=a&state=FAILED&since_ns=1&until_ns=2&sort=name';
  function Chosen() {
    const choice = useColumnChoice('tasks', COLUMNS, THREE);
    return <TableMenu name="tasks" columns={COLUMNS} choice={choice} list={{ rows: THREE }} />;
  }
  const { unmount } = await render(<Chosen />, { at });
  await click(screen.getByTestId('table-menu'));
  await click(screen.getByLabelText('Id'));
  await type(screen.getByTestId('save-view'), 'mine{Enter}');
  unmount();
  localStorage.removeItem('rayscope.columns.tasks');
  await render(<Chosen />, { at: '/s/session_2/tasks?func_name=b&since_ns=3&until_ns=4' });
  await click(screen.getByTestId('table-menu'));
  expect((screen.getByLabelText('Id') as HTMLInputElement).checked).toBe(false);
  await click(screen.getByTestId('saved-view'));
  expect((screen.getByLabelText('Id') as HTMLInputElement).checked).toBe(true);
  expect(window.location.pathname + window.location.search).toBe(
    '/s/session_2?q=a&state=FAILED&since_ns=3&until_ns=4&sort=name',
  );
  await click(screen.getByLabelText('Remove the view mine'));
  expect(screen.queryByTestId('saved-view')).toBeNull();
});

it('sets the density of all tables', async () => {
  const { unmount } = await render(
    <>
      <TableMenu name="tasks" columns={COLUMNS} list={{ rows: THREE }} />
      {table()}
    </>,
  );
  const second = () => screen.getAllByTestId('task')[1]?.style.transform;
  expect(second()).toBe('translateY(32px)');
  await click(screen.getByTestId('table-menu'));
  await click(await screen.findByText('Compact'));
  expect(second()).toBe('translateY(25px)');
  unmount();
  await render(table());
  expect(second()).toBe('translateY(25px)');
});

it('copies a row from its menu and by key, as text with the visible columns or as JSON', async () => {
  const copied = vi.fn((_: string) => Promise.resolve());
  vi.stubGlobal('navigator', { ...navigator, userAgent: '', clipboard: { writeText: copied } });
  await render(table({ onOpen: vi.fn(), actions: ({ id }) => <p>Delete {id}</p> }));
  const [, row] = screen.getAllByTestId('task');
  await click(within(row as HTMLElement).getByTestId('row-menu'));
  await screen.findByText('Delete t1');
  await click(await screen.findByText('Copy as text'));
  expect(copied).toHaveBeenLastCalledWith('name\ntask 1');
  await screen.findByText('Copied');
  await click(screen.getByText('task 2'));
  await press('{Shift>}c{/Shift}');
  expect(copied).toHaveBeenLastCalledWith(JSON.stringify(THREE[2], null, 2));
});

it('hides a column until a row needs it', async () => {
  const columns: Column<Task>[] = [
    { id: 'name', header: 'Name', width: 200, needed: ({ name }) => name !== 'task 0', cell: () => '' },
  ];
  function Shown({ rows }: { rows: Task[] }) {
    return table({ columns, rows, visibility: useColumnChoice('needed', columns, rows).visibility });
  }
  const headers = () => screen.queryAllByRole('columnheader').length;
  const { rerender } = await render(<Shown rows={tasks(1)} />);
  expect(headers()).toBe(0);
  rerender(<Shown rows={tasks(2)} />);
  expect(headers()).toBe(1);
  rerender(<Shown rows={[]} />); // loading, or none
  expect(headers()).toBe(1);
});

it('indicates at which edge there are more columns', async () => {
  const sizes = { scrollWidth: 2000, scrollLeft: 0 };
  for (const name of ['scrollWidth', 'scrollLeft'] as const)
    vi.spyOn(HTMLElement.prototype, name, 'get').mockImplementation(() => sizes[name]);
  await render(table());
  const edges = () => {
    const { moreLeft, moreRight } = (
      screen.getByTestId('tasks').closest('[data-more-left],[data-more-right]') as HTMLElement
    ).dataset;
    return [moreLeft !== undefined, moreRight !== undefined];
  };
  expect(edges()).toEqual([false, true]);
  vi.restoreAllMocks();
});
