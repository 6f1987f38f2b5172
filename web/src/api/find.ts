import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { answerTo } from './queries';
import type { FoundGroup } from './schema';

/** Delay between the last keystroke and the request, ms. */
const PAUSE = 150;

/**
 * Everything in a session whose name contains the search text or whose id starts with it. Earlier hits stay
 * visible while a request is running.
 */
export function useFind(session: string | undefined, text: string) {
  const [query] = useDebouncedValue(text.trim(), PAUSE);
  const found = useQuery({
    ...answerTo('/find', { session, q: query }),
    enabled: session !== undefined && query !== '',
    placeholderData: keepPreviousData,
    refetchInterval: false,
  });
  const isPending = text.trim() !== query || found.isFetching;
  const groups = text.trim() === '' ? [] : (found.data?.groups ?? []);
  return {
    // Until the answer arrives, show only those earlier hits that still match. Otherwise Enter could open a
    // hit of the previous search.
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
