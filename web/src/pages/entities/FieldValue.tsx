import { useTranslation } from 'react-i18next';
import { LIST_BY_ID_FIELD } from '../../base/url';
import { ItemLink } from '../../ui/ItemLink';
import { Value } from '../../ui/Value';

/**
 * The value of a field in a drawer. If it is the id of another entity, it links to that entity. `of` is the
 * name of the field with the entity's own id.
 */
export function FieldValue({ name, value, of }: { name: string; value: unknown; of: string }) {
  const { t } = useTranslation();
  const list = LIST_BY_ID_FIELD[name];
  if (list !== undefined && name !== of && typeof value === 'string' && value !== '')
    return <ItemLink view={list} id={value} full />;
  if (typeof value === 'boolean') return t(value ? 'common.yes' : 'common.no');
  return <Value name={name} value={value} />;
}
