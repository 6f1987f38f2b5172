import { screen } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import type { Job } from '../../api/schema';
import { useLiveList } from '../../api/useLiveList';
import { click, failure, type Request, render } from '../../testing/render';
import type { Column } from './columns';
import { LiveTable } from './LiveTable';
import { TableCount } from './TableCount';
import { TableMenu, useColumnChoice } from './TableMenu';

const COLUMNS: Column<Job>[] = [
  { id: 'id', header: 'Id', field: 'job_id', width: 100, cell: (job) => job.job_id },
];
const keyOf = (job: Job) => job.job_id;
const PARAMS = { session: 'session_1' };
const EVERY_MINUTE = () => 60_000;

function List() {
  const list = useLiveList('/jobs', PARAMS, keyOf, EVERY_MINUTE);
  return (
    <>
      <TableCount list={list} loaded />
      <TableMenu name="things" columns={COLUMNS} list={list} />
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

it('downloads all rows that match, not only those that are loaded', async () => {
  const saved = vi.spyOn(URL, 'createObjectURL').mockReturnValue('blob:');
  vi.spyOn(HTMLAnchorElement.prototype, 'click').mockReturnValue();
  const rows = ({ params }: Request) =>
    params.limit === '1000' && params.cursor === undefined ? page(0, 10, 'c1') : page(10, 25, null);
  const { requests } = await render(<List />, { answers: { '/jobs': rows } });
  await click(await screen.findByTestId('table-menu'));
  await screen.findByText('25 rows, with the columns shown');
  await click(screen.getByTestId('table-csv'));
  await vi.waitFor(() => expect(saved).toHaveBeenCalled());
  const text = await new Response(saved.mock.lastCall?.[0] as Blob).text();
  expect(text.split('\r\n')).toEqual(['job_id', ...page(0, 25, null).items.map((job) => job.job_id), '']);
  expect(requests.at(-1)?.params).toMatchObject({ limit: '1000', cursor: 'c1' });
  vi.restoreAllMocks();
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
