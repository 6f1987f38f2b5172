import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useRef } from 'react';
import { get } from '../../api/client';
import { refreshInterval } from '../../api/connection';
import { useSessionInterval } from '../../api/queries';
import { onlyMineOf } from '../../base/url';
import { useSessionUrl } from '../../ui/useUrl';
import { type LogicalAnswer, unfolded } from './logicalModel';

export function useLogical() {
  const [url] = useSessionUrl();
  const pace = useSessionInterval(url.session);
  const took = useRef(0);
  const { expand, fold, unfold } = url.settings ?? {};
  const only = onlyMineOf(url);
  return useQuery({
    queryKey: ['logical', url.session, url.filters, expand, fold, only, unfold],
    queryFn: async ({ signal }) => {
      const query = new URLSearchParams({ session: url.session });
      for (const [name, value] of Object.entries(url.filters)) if (value) query.set(name, value);
      for (const name of unfolded(expand)) query.append('expand', name);
      for (const name of unfolded(fold)) query.append('fold', name);
      if (only !== undefined) query.set('only', only);
      if (only !== undefined) for (const name of unfolded(unfold)) query.append('unfold', name);
      const begin = performance.now();
      const answer = await get<LogicalAnswer>(`/flow/logical?${query}`, undefined, signal);
      took.current = performance.now() - begin;
      return answer;
    },
    placeholderData: (before, query) =>
      query?.queryKey[1] === url.session ? keepPreviousData(before) : undefined,
    // Large records are fetched less often.
    refetchInterval: () => Math.max(refreshInterval(pace), 10 * took.current),
  });
}
