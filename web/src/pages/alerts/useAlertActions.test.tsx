import { screen } from '@testing-library/react';
import { beforeEach, expect, it } from 'vitest';
import type { AlertInfo } from '../../api/schema';
import { click, failure, type Request, render, type } from '../../testing/render';
import { useAlertActions } from './useAlertActions';

const ALERT = {
  fingerprint: 'f00',
  rule: 'QueueIsLong',
  labels: { queue: 'q1' },
  annotations: {},
} as unknown as AlertInfo;

beforeEach(() => sessionStorage.setItem('rayscope.operator', 'known'));

function Buttons() {
  const actions = useAlertActions();
  return (
    <button type="button" onClick={() => void actions.silence(ALERT)}>
      silence it
    </button>
  );
}

const open = async (answers = {}) => {
  const page = await render(<Buttons />, { answers: { '/alerts/silences': { id: 's1' }, ...answers } });
  await click(screen.getByText('silence it'));
  await screen.findByRole('dialog');
  return page;
};
const sent = (requests: Request[]) => requests.filter(({ method }) => method === 'POST');

it('silences the labels of an alert in its session, for as long as was chosen', async () => {
  const { requests } = await open();
  expect(screen.getByRole('dialog').textContent).toContain('Silence QueueIsLong');
  await click(screen.getByLabelText('1 d'));
  await type(screen.getByTestId('draft-by'), ' Ada ');
  await type(screen.getByTestId('draft-comment'), 'known');
  expect(sent(requests)).toEqual([]);
  await click(screen.getByTestId('act-confirm'));
  expect(sent(requests)).toMatchObject([
    {
      path: '/alerts/silences',
      body: {
        matchers: [
          { label: 'queue', op: '=', value: 'q1' },
          { label: 'session', op: '=', value: 'session_1' },
        ],
        duration_s: 86_400,
        created_by: 'Ada',
        comment: 'known',
      },
    },
  ]);
  expect(screen.queryByRole('dialog')).toBeNull();
});

it('needs no name, and sends nothing when it is cancelled', async () => {
  const { requests } = await open();
  await click(screen.getByTestId('act-cancel'));
  expect(screen.queryByRole('dialog')).toBeNull();
  expect(sent(requests)).toEqual([]);
  await click(screen.getByText('silence it'));
  await click(screen.getByTestId('act-confirm'));
  expect(sent(requests)).toMatchObject([{ body: { created_by: 'operator', duration_s: 3600 } }]);
});

it('asks for the operator token first, and reports a wrong one', async () => {
  sessionStorage.clear();
  let isOperator = false;
  const needed = { code: 'needs_operator', message: 'No.' };
  const { requests } = await open({
    '/alerts/silences': () => (isOperator ? { id: 's1' } : failure(403, needed)),
    '/operator': ({ body }: Request) => {
      isOperator = (body as { token: string }).token === 'right';
      return isOperator ? {} : failure(403, { code: 'wrong_operator_token', message: 'No.' });
    },
  });
  const token = await screen.findByTestId('act-token');
  expect(screen.getByTestId<HTMLButtonElement>('act-confirm').disabled).toBe(true);
  await type(token, 'wrong');
  await click(screen.getByTestId('act-confirm'));
  await screen.findByText('Wrong operator token.');
  await type(token, '{Control>}a{/Control}right{Enter}');
  expect(sent(requests).map(({ path }) => path)).toEqual(['/operator', '/operator', '/alerts/silences']);
  expect(sessionStorage.getItem('rayscope.operator')).toBe('right');
});

it('asks again when the stored token is no longer valid', async () => {
  await open({ '/alerts/silences': failure(403, { code: 'needs_operator', message: 'No.' }) });
  expect(screen.queryByTestId('act-token')).toBeNull();
  await click(screen.getByTestId('act-confirm'));
  await screen.findByTestId('act-token');
});
