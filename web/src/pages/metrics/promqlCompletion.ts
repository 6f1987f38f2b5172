/**
 * Completion for the expression editor: the session's metrics and labels, and those parts of PromQL that the
 * server supports.
 */

import type { Completion } from '@codemirror/autocomplete';
import {
  type CompleteStrategy,
  newCompleteStrategy,
  type PrometheusClient,
} from '@prometheus-io/codemirror-promql';
import { get } from '../../api/client';
import { queryClient } from '../../api/queries';
import words from './promql.json';

const STALE_MS = 30_000;
const WORDS = new Set(words);

/** False for PromQL functions and snippets that the server does not support. */
function isSupported({ label, type }: Pick<Completion, 'label' | 'type'>): boolean {
  if (type !== 'function' && type !== 'keyword') return true;
  return WORDS.has(label) || WORDS.has(label.split('(')[0] ?? '');
}

/** Completion at the cursor. It offers nothing while the server is unreachable. */
export function completionFor(session: string): CompleteStrategy {
  const all = newCompleteStrategy({ remote: metricsOf(session) });
  return {
    promQL: async (context) => {
      try {
        const found = await all.promQL(context);
        if (found === null) return null;
        // For an unclosed quote, the library returns an end that is before the start.
        const to = Math.max(found.from, found.to ?? context.pos);
        return { ...found, to, options: found.options.filter(isSupported) };
      } catch {
        return null;
      }
    },
  };
}

/** The part of Prometheus' API that completion needs, implemented with Rayscope's API. */
function metricsOf(session: string): PrometheusClient {
  const names = async () => {
    const answer = await queryClient.fetchQuery({
      queryKey: ['metric-names', session, ''],
      queryFn: ({ signal }) => get('/metrics/names', { session, q: '' }, signal),
      staleTime: STALE_MS,
    });
    return answer.items;
  };
  return {
    metricNames: async () => (await names()).map(({ name }) => name),
    metricMetadata: async () =>
      Object.fromEntries((await names()).map(({ name, type, help }) => [name, [{ type, help }]])),
    labelNames: async (metric) => {
      const found = (await names()).filter(({ name }) => !metric || name === metric);
      return [...new Set(found.flatMap(({ labels }) => Object.keys(labels)))].sort();
    },
    labelValues: async (label, metric) => {
      const params = { session, label, name: metric || undefined };
      const answer = await queryClient.fetchQuery({
        queryKey: ['label-values', params],
        queryFn: ({ signal }) => get('/metrics/label-values', params, signal),
        staleTime: STALE_MS,
      });
      return answer.items;
    },
    series: async () => [],
    flags: async () => ({}),
  };
}
