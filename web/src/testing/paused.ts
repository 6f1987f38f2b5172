import type { PausedTask } from '../api/schema';

/** A task that waits at a breakpoint. */
export const pausedTask = (more: Partial<PausedTask> = {}): PausedTask => ({
  pause_id: 'a'.repeat(16),
  state: 'waiting',
  session: 'session_1',
  job_id: '01000000',
  task_id: 'b'.repeat(48),
  attempt: 0,
  name: 'train',
  func_name: 'train',
  actor_id: null,
  worker_id: 'c'.repeat(56),
  node_id: 'd'.repeat(56),
  pid: 123,
  is_driver: false,
  function: 'inner',
  file: '/home/me/train.py',
  line: 9,
  error: null,
  since_ns: (Date.now() - 65_000) * 1e6,
  release_ns: null,
  debugger: null,
  resources: { CPU: 0.5 },
  waiters: 2,
  legacy: null,
  ...more,
});
