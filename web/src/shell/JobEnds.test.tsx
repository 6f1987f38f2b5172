import { waitFor } from '@testing-library/react';
import { afterEach, expect, it, vi } from 'vitest';
import { render } from '../testing/render';
import { JobEnds } from './JobEnds';

const JOB = { session: 's', job_id: '01000000', name: 'train.py' };

afterEach(() => localStorage.clear());

it('announces the end of a watched job once, and asks no more', async () => {
  vi.useFakeTimers({ shouldAdvanceTime: true });
  const shown = vi.fn();
  vi.stubGlobal(
    'Notification',
    class {
      constructor(...args: unknown[]) {
        shown(...args);
      }
    },
  );
  let state = 'RUNNING';
  localStorage.setItem('rayscope.watchedJobs', JSON.stringify([JOB]));
  const answer = () => ({ job_id: JOB.job_id, state, message: 'out of memory' });
  const { requests } = await render(<JobEnds />, { at: '/?lang=en', answers: { '/jobs/01000000': answer } });
  await waitFor(() => expect(requests).toHaveLength(1));
  expect(shown).not.toHaveBeenCalled();
  state = 'FAILED';
  await vi.advanceTimersByTimeAsync(5_000);
  await waitFor(() =>
    expect(shown).toHaveBeenCalledWith('train.py: Failed', { body: 'out of memory', tag: 's/01000000' }),
  );
  await vi.advanceTimersByTimeAsync(20_000);
  expect(requests).toHaveLength(2);
  expect(shown).toHaveBeenCalledOnce();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});
