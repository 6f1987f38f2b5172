import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useRef } from 'react';
import { get } from '../../api/client';
import { useSessionInterval } from '../../api/queries';
import { onlyMineOf, taskFilters } from '../../base/url';
import { useSessionUrl } from '../../ui/useUrl';
import { type LogicalAnswer, unfolded } from './logicalModel';

export function useLogical() {
  const [url] = useSessionUrl();
  const interval = useSessionInterval(url.session);
  const took = useRef(0);
  const { expand, fold, unfold } = url.settings ?? {};
  const only = onlyMineOf(url);
  return useQuery({
    queryKey: ['logical', url.session, url.filters, expand, fold, only, unfold],
    queryFn: async ({ signal }) => {
      const params = {
        session: url.session,
        ...taskFilters(url.filters),
        only,
        expand: unfolded(expand),
        fold: unfolded(fold),
        unfold: only && unfolded(unfold),
      };
      const begin = performance.now();
      const answer = (await get('/flow/logical', params, signal)) as LogicalAnswer;
      took.current = performance.now() - begin;
      return answer;
    },
    placeholderData: (before, query) =>
      query?.queryKey[1] === url.session ? keepPreviousData(before) : undefined,
    // Large records take longer, so they are fetched less often.
    refetchInterval: () => Math.max(interval(), 10 * took.current),
  });
}
