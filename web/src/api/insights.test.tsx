import { screen } from '@testing-library/react';
import { afterEach, expect, it, vi } from 'vitest';
import { failure, render } from '../testing/render';
import { useWhatIf } from './insights';

function Prediction() {
  const { data, error } = useWhatIf('session_1', '01000000', [{ kind: 'no_startup' }]);
  return <p>{error !== null ? error.message : (data?.predicted_ns ?? 'waiting')}</p>;
}

afterEach(() => vi.useRealTimers());

it('sends a what-if again while the server is busy with others', async () => {
  vi.useFakeTimers({ shouldAdvanceTime: true });
  let answer: object = failure(503, { code: 'busy', message: 'Two replays are running.' });
  const { requests } = await render(<Prediction />, { answers: { '/what-if': () => answer } });
  await vi.waitFor(() => expect(requests).toHaveLength(1));
  expect(screen.getByText('waiting')).toBeTruthy();
  answer = { predicted_ns: 42 };
  await vi.advanceTimersByTimeAsync(2_000);
  await screen.findByText('42');
  expect(requests).toHaveLength(2);
});
