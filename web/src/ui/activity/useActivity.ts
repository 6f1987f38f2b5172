import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { get } from '../../api/client';
import { REFRESH_ENDED, refreshInterval } from '../../api/connection';
import type { Filters } from '../../base/url';
import type { Activity } from './activity';

export function useActivity(session: string, filters: Filters) {
  return useQuery({
    queryKey: ['activity', session, filters],
    queryFn: ({ signal }) => get<Activity>('/flow/activity', { session, buckets: 400, ...filters }, signal),
    placeholderData: keepPreviousData,
    refetchInterval: () => refreshInterval(REFRESH_ENDED),
  });
}
