import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { click, render } from '../../testing/render';
import { DockedTable, MAX_DOCKED, numbers } from './DockedTable';

it('sorts, goes to a row, and lists no more than its limit', async () => {
  const picked: string[] = [];
  const all = Array.from({ length: MAX_DOCKED + 3 }, (_, at) => ({
    name: `f${at}`,
    n: at === 1 ? null : at,
  }));
  await render(
    <DockedTable
      label="Functions"
      testId="table"
      rows={all}
      left={2}
      keyOf={({ name }) => name}
      header="Function"
      nameOf={({ name }) => ({ name, color: null })}
      columns={[numbers('n', 'Number', (row: (typeof all)[number]) => row.n, String)]}
      sort="-n"
      onPick={({ name }) => picked.push(name)}
      isThere={({ name }) => name !== 'f2'}
    />,
  );
  const first = () => screen.getAllByTestId('table-row')[0] as HTMLElement;
  expect(screen.getAllByTestId('table-row')).toHaveLength(MAX_DOCKED);
  expect(screen.getByText('5 more').isConnected).toBe(true);
  expect(first().textContent).toBe('f102102');
  await click(screen.getByRole('button', { name: /Number/ }));
  // 0 is a dash, and what is unknown is last.
  expect(first().textContent).toBe('f0–');
  await click(screen.getByRole('button', { name: 'f0' }));
  await click(screen.getByText('f2'));
  expect(picked).toEqual(['f0']);
});
