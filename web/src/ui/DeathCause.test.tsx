import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import type { Death } from '../api/schema';
import { render } from '../testing/render';
import { DeathCause } from './DeathCause';

const ACTOR = 'a'.repeat(32);
const WORKER = 'b'.repeat(56);

const death = (parts: Partial<Death>): Death => ({
  kind: 'actor',
  id: ACTOR,
  end_ns: 1e18,
  cause: 'unknown',
  is_expected: false,
  chain: [],
  candidates: [],
  missing: null,
  process: null,
  memory_bytes: null,
  ray: null,
  ...parts,
});

const answered = (items: Death[]) => ({
  answers: { '/deaths': { session: 's', total: items.length, left_out: 0, items } },
});

const WORKER_DIED = {
  code: 'worker_died',
  kind: 'worker' as const,
  id: WORKER,
  params: { pid: 77 },
  message: 'Its worker process (pid 77) died.',
  source: 'ray' as const,
  time_ns: 1e18,
};

it('shows the steps to the cause with their sources, and what was last seen', async () => {
  const chain = [
    WORKER_DIED,
    {
      ...WORKER_DIED,
      code: 'kernel_oom',
      message: "The kernel's OOM killer killed the process (pid 77).",
      source: 'oom_counter' as const,
    },
  ];
  const process = {
    exit_code: null,
    signal: 'SIGKILL',
    source: 'pidfd',
    end_ns: 1e18,
    rss_bytes: 7 * 2 ** 30,
    memory_available: 100 * 2 ** 20,
    memory_total: 8 * 2 ** 30,
    cgroup_limit: null,
    cgroup_used: null,
    oom_kills: 1,
    kernel_record: null,
    disk_free: null,
    fds: null,
  };
  await render(
    <DeathCause kind="actor" id={ACTOR} />,
    answered([death({ cause: 'kernel_oom', chain, process })]),
  );
  const steps = (await screen.findByTestId('death-cause')).querySelectorAll('li');
  expect([...steps].map((step) => step.dataset.code)).toEqual(['worker_died', 'kernel_oom']);
  expect(steps[1]?.textContent).toContain('OOM counter of the cgroup');
  expect(screen.getByTestId('death-last-seen').textContent).toContain('100 MiB of 8.00 GiB available');
});

it('lists the possible causes, and what would tell them apart', async () => {
  const found = death({
    candidates: [{ code: 'killed', message: 'Someone else killed it with SIGKILL.' }],
    missing: { code: 'exit_status', message: 'The exit status of the process would tell.' },
    ray: 'SYSTEM_ERROR: Worker unexpectedly exits',
  });
  await render(<DeathCause kind="actor" id={ACTOR} />, answered([found]));
  const shown = await screen.findByTestId('death-cause');
  expect(shown.textContent).toContain('Someone else killed it with SIGKILL.');
  expect(shown.textContent).toContain('The exit status of the process would tell.');
  expect(shown.querySelector('details')?.textContent).toContain('Worker unexpectedly exits');
});

it('shows the memory that Ray reports without an agent on the node', async () => {
  await render(
    <DeathCause kind="actor" id={ACTOR} />,
    answered([death({ cause: 'memory_monitor', chain: [WORKER_DIED], memory_bytes: 7.9 * 2 ** 30 })]),
  );
  expect((await screen.findByTestId('death-memory')).textContent).toBe(
    'It held 7.90 GiB when it was killed. reported by Ray',
  );
});

it('is hidden while nothing has ended', async () => {
  await render(
    <>
      <span>beside</span>
      <DeathCause kind="actor" id={ACTOR} />
    </>,
    answered([]),
  );
  await screen.findByText('beside');
  expect(screen.queryByTestId('death-cause')).toBeNull();
});
