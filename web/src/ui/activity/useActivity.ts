import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { refreshEnded } from '../../api/connection';
import { answerTo } from '../../api/queries';
import { type Filters, taskFilters } from '../../base/url';

export function useActivity(session: string, filters: Filters) {
  return useQuery({
    ...answerTo('/flow/activity', { session, buckets: 400, ...taskFilters(filters) }),
    placeholderData: keepPreviousData,
    refetchInterval: refreshEnded,
  });
}
