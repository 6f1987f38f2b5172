import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import type { Job } from '../../api/schema';
import { useLiveList } from '../../api/useLiveList';
import { click, failure, type Request, render } from '../../testing/render';
import { useColumnChoice } from './ColumnChooser';
import type { Column } from './columns';
import { LiveTable } from './LiveTable';
import { TableCount } from './TableCount';

const COLUMNS: Column<Job>[] = [{ id: 'id', header: 'Id', width: 100, cell: (job) => job.job_id }];
const keyOf = (job: Job) => job.job_id;
const PARAMS = { session: 'session_1' };
const EVERY_MINUTE = () => 60_000;

function List() {
  const list = useLiveList('/jobs', PARAMS, keyOf, EVERY_MINUTE);
  return (
    <>
      <TableCount list={list} loaded />
      <LiveTable
        list={list}
        choice={useColumnChoice('things', COLUMNS, [])}
        testId="things"
        rowTestId="thing"
        label="Things"
        columns={COLUMNS}
        keyOf={keyOf}
        empty={<p>Nothing was recorded</p>}
      />
    </>
  );
}

const page = (from: number, to: number, next: string | null) => ({
  items: Array.from({ length: to - from }, (_, at) => ({ job_id: `i${from + at}` })),
  next,
  total: 25,
});

it('loads page after page, and each row once', async () => {
  // The second page starts with the last row of the first one, which moved down in the meantime.
  const things = ({ params }: Request) => (params.cursor === 'c1' ? page(9, 25, null) : page(0, 10, 'c1'));
  const { requests } = await render(<List />, { answers: { '/jobs': things } });
  await screen.findByText('i24');
  expect(screen.getAllByTestId('thing')).toHaveLength(25);
  expect(screen.getByTestId('table-count').textContent).toContain('25');
  expect(requests.map(({ params }) => params.cursor)).toEqual([undefined, 'c1']);
});

it('distinguishes an empty list from filters without matches, which it offers to clear', async () => {
  const answers = { '/jobs': { items: [], next: null, total: 0 } };
  const { unmount } = await render(<List />, { answers });
  await screen.findByText('Nothing was recorded');
  unmount();
  await render(<List />, { answers, at: '/s/session_1/actors?state=DEAD&sort=name' });
  await screen.findByText('No matches for these filters');
  expect(screen.queryByText('Nothing was recorded')).toBeNull();
  await click(screen.getByRole('button', { name: 'Clear filters' }));
  expect(window.location.search).toBe('?sort=name');
});

it('shows an error with its remedy in place of the first page', async () => {
  const remedy = 'Ask for fewer columns.';
  await render(<List />, {
    answers: { '/jobs': () => failure(400, { code: 'odd', message: 'That is too much.', remedy }) },
  });
  expect((await screen.findByTestId('error-panel')).textContent).toContain(
    `That is too much.What to do: ${remedy}`,
  );
});
