import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { get } from '../../api/client';
import { refreshEnded } from '../../api/connection';
import { type Filters, taskFilters } from '../../base/url';

export function useActivity(session: string, filters: Filters) {
  return useQuery({
    queryKey: ['activity', session, filters],
    queryFn: ({ signal }) =>
      get('/flow/activity', { session, buckets: 400, ...taskFilters(filters) }, signal),
    placeholderData: keepPreviousData,
    refetchInterval: refreshEnded,
  });
}
