import { screen } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import { ApiError } from '../api/client';
import { click, render } from '../testing/render';
import { ErrorPanel } from './ErrorPanel';

const MISSING = new ApiError(404, 'not_found_session', 'No session x.', 'List them.', { id: 'x' });
const text = () => screen.getByTestId('error-panel').textContent;

it.each([
  ['en', 'Session x not found.', 'See the list of sessions.'],
  ['zh', '会话 x 不存在。', '请查看会话列表。'],
] as const)('says what is wrong and what to do, in %s', async (language, message, remedy) => {
  await render(<ErrorPanel error={MISSING} />, { language });
  expect(text()).toContain(message);
  expect(text()).toContain(remedy);
});

it("shows the server's message if there is no translation", async () => {
  await render(<ErrorPanel error={new ApiError(500, 'brand_new', 'The disk is on fire.', 'Leave.')} />, {
    language: 'zh',
  });
  expect(text()).toContain('The disk is on fire.');
  expect(text()).toContain('Leave.');
});

it('treats a request without an answer as an unreachable server, and retries', async () => {
  const onRetry = vi.fn();
  await render(<ErrorPanel error={new TypeError('Failed to fetch')} onRetry={onRetry} />);
  expect(text()).toContain('The server is not responding.');
  expect(text()).not.toContain('Failed to fetch');
  await click(screen.getByRole('button', { name: 'Try again' }));
  expect(onRetry).toHaveBeenCalledTimes(1);
});
