import { screen } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import type { AlertsAnswer } from '../../api/schema';
import { render } from '../../testing/render';
import AlertsPage from './AlertsPage';

vi.mock('../../api/realtime', async (original) => ({
  ...(await original<typeof import('../../api/realtime')>()),
  useTopic: () => undefined, // there is no server to open a socket to
}));

const ANSWER: AlertsAnswer = {
  session: 'session_1',
  live: true,
  evaluated_ns: 1e9,
  items: [],
  left_out: 0,
  resolved: [],
  resolved_left_out: 0,
  firing: 2,
  info: 0,
  pending: 1,
  ended: 0,
};

const show = async (answer: AlertsAnswer, language: 'en' | 'zh' = 'en') => {
  await render(<AlertsPage />, {
    at: '/s/session_1/alerts',
    language,
    answers: { '/alerts': answer },
  });
};

it('counts what fires and is pending while the session is live', async () => {
  await show(ANSWER);
  expect((await screen.findByText('2 firing, 1 pending')).dataset.testid).toBe('alerts-count');
});

it.each([
  ['en', 'Firing at the end: 2'],
  ['zh', '结束时仍在触发：2 条'],
] as const)('counts what fired at the end of an ended session, in %s', async (language, title) => {
  await show({ ...ANSWER, live: false, firing: 0, pending: 0, ended: 2 }, language);
  expect((await screen.findByText(title)).dataset.testid).toBe('alerts-count');
});
