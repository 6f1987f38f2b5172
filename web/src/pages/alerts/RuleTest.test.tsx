import { screen, waitFor } from '@testing-library/react';
import { expect, it } from 'vitest';
import { click, failure, render } from '../../testing/render';
import { RuleTest } from './RuleTest';

const SESSIONS = {
  items: [{ session: 'session_1', state: 'ended', first_ns: 1e18, last_ns: 1e18 + 60e9 }],
};

function answer(values: number[], left_out = 0) {
  const series = values.map((value, at) => ({ labels: { queue: `q${at}` }, values: [value] }));
  return { series, left_out, until_ns: 1e18, warnings: [] };
}

async function open(found: object, forS = 60) {
  const page = await render(<RuleTest expr="my_queue > 40" forS={forS} />, {
    answers: { '/sessions': SESSIONS, '/metrics/query': found },
  });
  const button = screen.getByTestId<HTMLButtonElement>('rule-test');
  // The bounds of the session must be known first.
  await waitFor(() => expect(button.disabled).toBe(false));
  await click(button);
  return page;
}

it('shows how many series match, which, and when the rule would fire', async () => {
  const { requests } = await open(answer([90, 70], 3));
  const result = await screen.findByTestId('rule-test-result');
  expect(result.textContent).toContain('5 series match. The rule would fire once this has held for 1m');
  expect(result.textContent).toContain('90queue q0');
  expect(result.textContent).toContain('and 3 more series');
  const { params } = requests.find(({ path }) => path === '/metrics/query') ?? {};
  expect(params).toMatchObject({ expr: 'my_queue > 40', session: 'session_1' });
  expect(params?.since_ns).toBe(params?.until_ns);
});

it('shows whether it fires immediately or not at all', async () => {
  const { unmount } = await open(answer([90]), 0);
  expect((await screen.findByTestId('rule-test-result')).textContent).toContain('would fire at once');
  unmount();
  await open(answer([]));
  expect((await screen.findByTestId('rule-test-result')).textContent).toContain('would not fire');
});

it('shows what is wrong with the expression, and what to do', async () => {
  const { requests } = await open(
    failure(400, { code: 'bad_query', message: 'Unexpected )', remedy: 'See docs/reference/promql.md.' }),
  );
  const problem = await screen.findByRole('alert');
  expect(problem.textContent).toBe('Unexpected ) See docs/reference/promql.md.');
  expect(requests.filter(({ path }) => path === '/metrics/query')).toHaveLength(1);
});
