import { useQuery } from '@tanstack/react-query';
import { refreshInterval } from '../../api/connection';
import { answerTo, useHasEnded } from '../../api/queries';
import type { Death, DeathsAnswer } from '../../api/schema';
import type { Item } from '../../api/types';
import { useSessionUrl } from '../../ui/useUrl';

const KINDS = { workers: 'worker', actors: 'actor' } as const;
const byId = ({ items }: DeathsAnswer) => new Map(items.map((death) => [death.id, death]));

/** Why a worker or actor ended, if it is among the latest and the cause is on record. All rows share a request. */
export function useDeathOf(view: string, item: Item): Death | undefined {
  const [{ session }] = useSessionUrl();
  const hasEnded = useHasEnded(session);
  const kind = view === 'workers' || view === 'actors' ? KINDS[view] : undefined;
  const { data } = useQuery({
    ...answerTo('/deaths', { kind: kind ?? 'worker', session, limit: 500 }),
    enabled: kind !== undefined,
    select: byId,
    refetchInterval: () => (hasEnded ? false : refreshInterval(10_000)),
    staleTime: 10_000,
  });
  const death = kind && data?.get(String(item[`${kind}_id`]));
  return death?.cause === 'unknown' ? undefined : death;
}
