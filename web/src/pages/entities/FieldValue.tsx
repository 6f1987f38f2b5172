import { useTranslation } from 'react-i18next';
import type { EntityView as EntityViewName } from '../../base/url';
import { ItemLink } from '../../ui/ItemLink';
import { Value } from '../../ui/Value';

/** Where the thing that an id names is listed. */
const LISTED: Record<string, EntityViewName> = {
  actor_id: 'actors',
  creator_actor_id: 'actors',
  worker_id: 'workers',
  node_id: 'nodes',
  driver_node_id: 'nodes',
  job_id: 'jobs',
  placement_group_id: 'placement-groups',
};

/** A field in a drawer: an id of something else is a link to it. `of` is the field with the own id. */
export function FieldValue({ name, value, of }: { name: string; value: unknown; of: string }) {
  const { t } = useTranslation();
  const list = LISTED[name];
  if (list !== undefined && name !== of && typeof value === 'string' && value !== '')
    return <ItemLink view={list} id={value} full />;
  if (typeof value === 'boolean') return t(value ? 'common.yes' : 'common.no');
  return <Value name={name} value={value} />;
}
