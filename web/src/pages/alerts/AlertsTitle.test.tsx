import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import type { AlertsAnswer } from '../../api/schema';
import { render } from '../../testing/render';
import { AlertsTitle } from './AlertsTitle';

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
  await render(<AlertsTitle alerts={answer} />, { language });
};

it('counts what fires and is pending while the session is live', async () => {
  await show(ANSWER);
  expect((await screen.findByText('2 firing, 1 pending')).dataset.testid).toBe('alerts-count');
});

it('counts those for information separately', async () => {
  await show({ ...ANSWER, info: 1 });
  expect(await screen.findByText('1 firing, 1 for information, 1 pending')).toBeTruthy();
});

it.each([
  ['en', 'Firing at the end: 2'],
  ['zh', '结束时仍在触发：2 条'],
] as const)('counts what fired at the end of an ended session, in %s', async (language, title) => {
  await show({ ...ANSWER, live: false, firing: 0, pending: 0, ended: 2 }, language);
  expect((await screen.findByText(title)).dataset.testid).toBe('alerts-count');
});
