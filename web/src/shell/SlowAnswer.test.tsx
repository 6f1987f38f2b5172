import { useQuery } from '@tanstack/react-query';
import { fireEvent, screen } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import { get } from '../api/client';
import { pass, render } from '../testing/render';
import { SlowAnswer } from './SlowAnswer';

function Page() {
  const { data } = useQuery({
    queryKey: ['slow'],
    queryFn: ({ signal }) => get('/tasks', {}, signal),
    refetchInterval: false,
  });
  return (
    <>
      <SlowAnswer attempts={12_000} />
      <p>{data?.total}</p>
    </>
  );
}

const wait = (seconds: number) => pass(seconds * 1000);

it('announces a slow answer after a while, cancels it, and retries', async () => {
  vi.useFakeTimers();
  const { requests } = await render(<Page />);
  await wait(3);
  expect(screen.queryByTestId('slow-answer')).toBeNull();
  await wait(2);
  expect(screen.getByTestId('slow-answer').textContent).toContain('Reading 12,000 attempts: 4 s');
  fireEvent.click(screen.getByRole('button', { name: 'Cancel' }));
  await wait(1);
  expect(screen.getByTestId('slow-answer').textContent).toContain('Canceled before the answer came.');
  expect(requests).toHaveLength(1);
  fireEvent.click(screen.getByRole('button', { name: 'Try again' }));
  await wait(1);
  expect(requests).toHaveLength(2);
  expect(screen.queryByTestId('slow-answer')).toBeNull();
});

it('does not announce answers that arrive in time', async () => {
  vi.useFakeTimers();
  await render(<Page />, { answers: { '/tasks': { total: 42 } } });
  await wait(10);
  expect(screen.getByText('42')).toBeTruthy();
  expect(screen.queryByTestId('slow-answer')).toBeNull();
});
