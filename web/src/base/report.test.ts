import { expect, test } from 'vitest';
import { momentNear, recorded } from './report';

const report = {
  answers: [
    ['/summary', [['session', 'S']], 200, { attempts: 3 }],
    [
      '/flow/gantt',
      [
        ['by', 'node'],
        ['lanes', '64'],
        ['session', 'S'],
        ['width', '2048'],
      ],
      200,
      { lanes: [] },
    ],
    [
      '/metrics/query',
      [
        ['expr', 'max(a[60s])'],
        ['session', 'S'],
        ['step_ns', '1'],
      ],
      200,
      { series: [] },
    ],
    ['/tasks/ab', [['session', 'S']], 404, { error: { code: 'not_found' } }],
  ],
} as const;
const ask = async (path: string, method?: string) => {
  const response = recorded(report, path, method);
  return [response.status, await response.json()];
};

test('answers a request as the server did', async () => {
  expect(await ask('/api/v1/summary?session=S')).toEqual([200, { attempts: 3 }]);
  expect(await ask('/api/v1/tasks/ab?session=S')).toEqual([404, { error: { code: 'not_found' } }]);
});

test('one answer serves all windows of a chart', async () => {
  const gantt = '/api/v1/flow/gantt?session=S&by=node&width=700&lanes=16&lanes_from=32&since_ns=5&until_ns=6';
  expect((await ask(gantt))[0]).toBe(200);
  expect((await ask(gantt.replace('node', 'worker')))[0]).toBe(410);
  const peak = new URLSearchParams({ session: 'S', expr: 'max(a[15s])', since_ns: '7' });
  expect((await ask(`/api/v1/metrics/query?${peak}`))[0]).toBe(200);
});

test('says what the report lacks', async () => {
  for (const [path, method] of [
    ['/api/v1/summary?session=T', 'GET'],
    ['/api/v1/summary?session=S&q=x', 'GET'],
    ['/api/v1/summary?session=S', 'POST'],
  ]) {
    const [status, body] = await ask(path as string, method);
    expect([status, body.error.code]).toEqual([410, 'not_in_report']);
  }
});

test('moves a moment to the nearest one in the report', () => {
  const moments = ['1795987427363774701', '1795987427363774709'];
  expect(momentNear('1795987427363774706', moments)).toBe('1795987427363774709');
  expect(momentNear('1', moments)).toBe('1795987427363774701');
  expect(momentNear(undefined, moments)).toBe(undefined);
  expect(momentNear('1', undefined)).toBe('1');
});
