import { useTranslation } from 'react-i18next';
import type { Item } from '../../api/types';
import { ItemState } from '../../ui/ItemState';
import { parse } from '../../ui/Value';

/** The state of an entity. A removed placement group may never have been placed. */
export function EntityState({ item, view }: { item: Item; view: string }) {
  const { t } = useTranslation();
  const isNeverPlaced =
    view === 'placement-groups' && item.state === 'REMOVED' && bundlesOf(item).every((one) => !one.node_id);
  return (
    <ItemState
      state={item.state ?? null}
      label={isNeverPlaced ? t('jobs.neverPlaced') : undefined}
      view={view}
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
