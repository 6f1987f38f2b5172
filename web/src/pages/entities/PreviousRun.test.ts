import { expect, it } from 'vitest';
import type { SessionItem } from '../../api/schema';
import { previousRun } from './PreviousRun';

const job = (job_id: string, entrypoint: string, start_ns: number) => ({ job_id, entrypoint, start_ns });
const session = (name: string, script: string, first_ns: number) =>
  ({ session: name, script, first_ns, state: 'ended' }) as SessionItem;
const NOW = job('03000000', 'python /home/me/train.py --lr 2', 300);
const JOBS = [NOW, job('01000000', 'python train.py --lr 1', 100), job('02000000', 'python train.py', 200)];
const SESSIONS = [
  session('old', 'train.py', 10),
  session('older', 'train.py', 5),
  session('s', 'train.py', 90),
];

it('chooses the latest earlier job of the script in the session', () => {
  expect(previousRun('s', NOW, JOBS, SESSIONS)).toEqual({ a: 's/02000000' });
});

it('otherwise leaves the choice among earlier sessions to the server', () => {
  const others = [NOW, job('01000000', 'python other.py', 100), job('raysubmit_1', 'python train.py', 200)];
  expect(previousRun('s', NOW, others, SESSIONS)).toEqual({ a: '' });
});

it('chooses nothing if the script did not run before, or is unknown', () => {
  expect(previousRun('s', NOW, [NOW], [session('new', 'train.py', 400)])).toBeNull();
  expect(previousRun('s', { ...NOW, entrypoint: '' }, JOBS, SESSIONS)).toBeNull();
});
