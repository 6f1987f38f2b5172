import { CompletionContext } from '@codemirror/autocomplete';
import { EditorState } from '@codemirror/state';
import { PromQLExtension } from '@prometheus-io/codemirror-promql';
import { beforeEach, expect, it, vi } from 'vitest';
import { queryClient } from '../../api/queries';
import { formatQueries, parseQueries } from '../../ui/charts/queries';
import { completionFor } from './promqlCompletion';
import { newestMoment } from './useInstant';

it('carries several queries in one text, each as it was written', () => {
  const queries = ['sum(a)\n  by (b)', 'rate(c[1m])'];
  expect(parseQueries(formatQueries(queries))).toEqual(queries);
  expect(parseQueries(formatQueries(['a +\n\n b', ' ']))).toEqual(['a +\n b']);
  expect(formatQueries(['', ' '])).toBeUndefined();
  expect(parseQueries(undefined)).toEqual([]);
});

it('shows the values of one moment, the latest with any value', () => {
  const series = [
    { labels: { a: '1' }, values: [1, 2, null] },
    { labels: { a: '2' }, values: [3, null, null] },
  ];
  expect(newestMoment({ times_ms: [0, 5, 10], series })).toEqual({
    time: 5,
    rows: [{ labels: { a: '1' }, value: 2 }],
  });
  expect(newestMoment({ times_ms: [0], series: [] })).toBeNull();
});

const ANSWERS: Record<string, object> = {
  '/api/v1/metrics/names': {
    items: [{ name: 'my_queue', type: 'gauge', help: 'Length.', unit: '', series: 2, labels: { queue: 2 } }],
  },
  '/api/v1/metrics/label-values': { items: ['q1', 'q"2'], total: 2 },
};

beforeEach(() => {
  queryClient.clear();
  vi.stubGlobal('window', { location: { origin: 'http://server' } });
  vi.stubGlobal('fetch', async (path: string) => Response.json(ANSWERS[path.split('?')[0] ?? '']));
});

/** The completions offered at the | of a text. */
async function offered(text: string): Promise<string[]> {
  const at = text.indexOf('|');
  const extension = new PromQLExtension().setComplete({ completeStrategy: completionFor('s') });
  const state = EditorState.create({ doc: text.replace('|', ''), extensions: extension.asExtension() });
  const found = await extension.getComplete().promQL(new CompletionContext(state, at, true));
  return (found?.options ?? []).map(({ label }) => label);
}

it('offers metrics, labels, their values, and the functions that the server has', async () => {
  expect(await offered('my|')).toContain('my_queue');
  expect(await offered('my_queue{|}')).toContain('queue');
  expect(await offered('sum by (|) (my_queue)')).toContain('queue');
  expect(await offered('my_queue{queue="|"}')).toEqual(['q1', 'q"2']);
  const functions = await offered('r|');
  expect(functions).toEqual(expect.arrayContaining(['rate', 'avg', 'label_replace']));
  expect(functions.join()).not.toMatch(/histogram_avg|mad_over_time/);
});

it('offers nothing while the server is unreachable', async () => {
  vi.stubGlobal('fetch', () => Promise.reject(new TypeError('Failed to fetch')));
  expect(await offered('my_queue{|}')).toEqual([]);
});
