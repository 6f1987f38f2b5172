import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { click, render } from '../../testing/render';
import { CrashesPanel, useCrashVerdict } from './CrashesPanel';

const crash = (pid: number, harm: object, more: object = {}) => ({
  worker_id: `${pid}`.repeat(14),
  node_id: 'a'.repeat(56),
  pid,
  worker_type: 'WORKER',
  script: 'nightly.py',
  actor_class: null,
  actor_name: null,
  function: null,
  exit_type: 'SYSTEM_ERROR',
  end_ns: 1_760_000_000_000_000_000,
  signal: null,
  harm: { number: 0, message: 'As the server says it.', ...harm },
  file: null,
  offset: null,
  lines: [],
  death: null,
  ...more,
});
const EXITED = {
  code: 'exited',
  params: { pid: 2222, status: 3 },
  message: 'The process (pid 2222) exited by itself with status 3.',
};
const CRASHES = {
  workers: 28,
  total: 9,
  in_race: 1,
  items: [
    crash(
      1111,
      { harm: 'none', code: 'released' },
      {
        actor_class: 'Scorer',
        signal: 'SIGABRT',
        lines: ['Mutex corrupt', '*** SIGABRT'],
        file: 'worker-1.err',
        offset: 40,
      },
    ),
    crash(
      2222,
      { harm: 'harmed', code: 'attempts', number: 3 },
      { function: 'train', death: { chain: [EXITED] } },
    ),
    crash(3333, { harm: 'unknown', code: 'new_code' }),
    crash(4444, { harm: 'harmed', code: 'driver', number: 1 }, { worker_type: 'DRIVER' }),
  ],
};

it('shows what crashed, whether it did harm, and the last lines of its log', async () => {
  await render(<CrashesPanel live={false} />, { answers: { '/crashes': CRASHES } });
  const items = await screen.findAllByTestId('crash');
  const texts = items.map(({ textContent }) => textContent ?? '');
  expect(texts[0]).toContain('Scorer SIGABRT · pid 1111 · aaaaaaaa');
  expect(texts[0]).toContain('No harm: Ray had already ended this worker.');
  expect(texts[1]).toContain('train pid 2222');
  expect(texts[1]).toContain(EXITED.message);
  expect(texts[1]).toContain('3 task attempts lost.');
  expect(texts[2]).toContain('Ran nothing');
  expect(texts[2]).toContain('As the server says it.');
  expect(texts[3]).toContain('Driver nightly.py');
  expect(texts[3]).toContain('1 task attempt cut off with the job.');
  expect(items.map((item) => item.dataset.harm)).toEqual(['none', 'harmed', 'unknown', 'harmed']);
  const panel = screen.getByTestId('panel-crashes').textContent;
  expect(panel).toContain('9 of 28');
  expect(panel).toContain('1 crashed in a race in Ray');
  expect(panel).toContain('and 5 more');
  await click(screen.getByText('Last log lines'));
  expect(items[0]?.querySelector('pre')?.textContent).toBe('Mutex corrupt\n*** SIGABRT');
  expect(items[0]?.querySelector('details a')?.getAttribute('href')).toContain('file=worker-1.err');
});

it('is absent where no worker crashed', async () => {
  const { requests } = await render(<CrashesPanel live={false} />, {
    at: '/s/session_2',
    answers: { '/crashes': { workers: 5, total: 0, in_race: 0, items: [] } },
  });
  await expect.poll(() => requests.length).toBeGreaterThan(0);
  expect(screen.queryByTestId('panel-crashes')).toBeNull();
});

it('is available in Chinese', async () => {
  await render(<CrashesPanel live={false} />, {
    language: 'zh',
    at: '/s/session_3',
    answers: { '/crashes': CRASHES },
  });
  expect((await screen.findByTestId('panel-crashes')).textContent).toContain(
    '未造成损失：Ray 此前已结束该 Worker。',
  );
});

it('sums up all crashes in a sentence', async () => {
  const Verdict = () => <p data-testid="verdict">{useCrashVerdict(false)}</p>;
  const verdicts = [];
  for (const [number, numbers] of [
    { harmed: 2, unknown: 1 },
    { harmed: 9, unknown: 0 },
    { harmed: 0, unknown: 1 },
    { harmed: 0, unknown: 0 },
  ].entries()) {
    const { unmount } = await render(<Verdict />, {
      at: `/s/session_1${number}`,
      answers: { '/crashes': { ...CRASHES, ...numbers } },
    });
    await expect.poll(() => screen.getByTestId('verdict').textContent).not.toBe('');
    verdicts.push(screen.getByTestId('verdict').textContent);
    unmount();
  }
  expect(verdicts).toEqual([
    '9 workers crashed; 2 of them did harm.',
    '9 workers crashed and did harm.',
    '9 workers crashed; whether any harm was done is unknown.',
    '9 workers crashed; no harm was done.',
  ]);
});
