import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { get } from './client';
import type { FindAnswer, FoundGroup, FoundItem } from './schema';

export type { FoundGroup, FoundItem };

/** Time after the last key before the server is asked, ms. */
const PAUSE = 150;

/** What of a session has this text in its name or begins its id with it; what was found before stays meanwhile. */
export function useFind(session: string | undefined, text: string) {
  const [asked] = useDebouncedValue(text.trim(), PAUSE);
  const found = useQuery({
    queryKey: ['find', session, asked],
    queryFn: ({ signal }) => get<FindAnswer>('/find', { session, q: asked }, signal),
    enabled: session !== undefined && asked !== '',
    placeholderData: keepPreviousData,
    refetchInterval: false,
  });
  const isPending = text.trim() !== asked || found.isFetching;
  const groups = text.trim() === '' ? [] : (found.data?.groups ?? []);
  return {
    // Until the answer is there: what was found before and fits, so that Enter opens nothing else.
    groups: isPending ? groups.map((group) => fitting(group, text)).filter(({ total }) => total > 0) : groups,
    error: found.error,
    isPending,
  };
}

function fitting(group: FoundGroup, text: string): FoundGroup {
  const wanted = text.trim().toLowerCase();
  const items = group.items.filter(
    ({ id, name }) => id.startsWith(wanted) || name?.toLowerCase().includes(wanted),
  );
  return { ...group, items, total: items.length };
}
