import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect } from 'react';
import { refreshEnded, refreshInterval } from '../../api/connection';
import { answerTo, isOf } from '../../api/queries';
import { type AlertsTopic, useTopic } from '../../api/realtime';

/** Current alerts, refetched as soon as the pushed topic changes. */
export function useAlerts(session: string) {
  const topic = useTopic<AlertsTopic>('alerts', { session });
  const refresh = useRefresh();
  // biome-ignore lint/correctness/useExhaustiveDependencies: refetch when the topic changes
  useEffect(refresh, [topic, refresh]);
  return useQuery({ ...answerTo('/alerts', { session }), refetchInterval: refreshEnded });
}

export function useRules(session: string) {
  return useQuery({ ...answerTo('/alerts/rules', { session }), refetchInterval: refreshEnded });
}

export function useHistory(session: string) {
  return useQuery({ ...answerTo('/alerts/history', { session, limit: 200 }), refetchInterval: refreshEnded });
}

export function useSilences() {
  return useQuery({ ...answerTo('/alerts/silences', {}), refetchInterval: refreshEnded });
}

export function useChannels() {
  return useQuery({ ...answerTo('/alerts/channels', {}), refetchInterval: refreshEnded });
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
  return useCallback(() => void client.invalidateQueries({ predicate: isOf('/alerts') }), [client]);
}
