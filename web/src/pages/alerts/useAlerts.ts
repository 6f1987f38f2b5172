import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect } from 'react';
import { get } from '../../api/client';
import { refreshEnded, refreshInterval } from '../../api/connection';
import { answerTo } from '../../api/queries';
import { type AlertsTopic, useTopic } from '../../api/realtime';

/** Current alerts, refetched as soon as the pushed topic changes. */
export function useAlerts(session: string) {
  const topic = useTopic<AlertsTopic>('alerts', { session });
  const refresh = useRefresh();
  // biome-ignore lint/correctness/useExhaustiveDependencies: refetch when the topic changes
  useEffect(refresh, [topic, refresh]);
  return useQuery({
    queryKey: ['alerts', 'active', session],
    queryFn: ({ signal }) => get('/alerts', { session }, signal),
    refetchInterval: refreshEnded,
  });
}

export function useRules(session: string) {
  return useQuery({
    queryKey: ['alerts', 'rules', session],
    queryFn: ({ signal }) => get('/alerts/rules', { session }, signal),
    refetchInterval: refreshEnded,
  });
}

export function useHistory(session: string) {
  return useQuery({
    queryKey: ['alerts', 'history', session],
    queryFn: ({ signal }) => get('/alerts/history', { session, limit: 200 }, signal),
    refetchInterval: refreshEnded,
  });
}

export function useSilences() {
  return useQuery({
    queryKey: ['alerts', 'silences'],
    queryFn: ({ signal }) => get('/alerts/silences', {}, signal),
    refetchInterval: refreshEnded,
  });
}

export function useChannels() {
  return useQuery({
    queryKey: ['alerts', 'channels'],
    queryFn: ({ signal }) => get('/alerts/channels', {}, signal),
    refetchInterval: refreshEnded,
  });
}

/** The last hour of a rule's expression: the five series with the greatest values. */
export function useAlertSeries(session: string, expr: string) {
  return useQuery({
    ...answerTo('/metrics/query', { session, expr, limit: 5 }),
    placeholderData: keepPreviousData,
    refetchInterval: () => refreshInterval(15_000),
  });
}

/** Refetches all data about alerts. */
export function useRefresh(): () => void {
  const client = useQueryClient();
  return useCallback(() => void client.invalidateQueries({ queryKey: ['alerts'] }), [client]);
}
