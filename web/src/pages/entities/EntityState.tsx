import { useTranslation } from 'react-i18next';
import type { Item } from '../../api/types';
import { ItemState } from '../../ui/ItemState';
import { parse } from '../../ui/Value';
import { useDeathOf } from './useDeaths';

/** The state of an entity: red if it died unexpectedly. A removed placement group may never have been placed. */
export function EntityState({ item, view }: { item: Item; view: string }) {
  const { t } = useTranslation();
  const death = useDeathOf(view, item);
  const stats = parse(item.stats ?? '') as { end_to_end_creation_latency_us?: number } | null;
  const isNeverPlaced =
    view === 'placement-groups' &&
    item.state === 'REMOVED' &&
    stats?.end_to_end_creation_latency_us === 0 &&
    bundlesOf(item).every((one) => !one.node_id);
  return (
    <ItemState
      state={item.state ?? null}
      label={isNeverPlaced ? t('jobs.neverPlaced') : undefined}
      view={view}
      tone={death?.is_expected === false ? 'bad' : undefined}
    />
  );
}

export interface Bundle {
  index: number;
  resources: Record<string, number>;
  node_id: string | null;
}

/** The bundles of a placement group. */
export function bundlesOf(group: Item): Bundle[] {
  const value = parse(group.bundles ?? '');
  return Array.isArray(value) ? value : [];
}
