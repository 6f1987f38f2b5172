import { Field, Fields } from '../../ui/Drawer';
import { isEmpty } from '../../ui/Value';
import { type EntityKind, KINDS, PARTS } from './entityKinds';
import { FieldValue } from './FieldValue';
import { useFieldName } from './useFieldName';

/** All fields of an entity. Fields that matter most are shown even if they are empty. */
export function EntityFields(props: {
  view: EntityKind;
  item: Record<string, unknown>;
  /** Fields that are shown elsewhere. */
  hide?: ReadonlySet<string>;
}) {
  const { view, item, hide } = props;
  const kind = KINDS[view];
  const fieldName = useFieldName();
  return (
    <Fields>
      {[...kind.first, ...Object.keys(item).filter((field) => !kind.first.includes(field))]
        .filter((field) => field in item && !PARTS.has(field) && !hide?.has(field))
        .filter((field) => kind.first.includes(field) || !isEmpty(item[field]))
        .map((field) => (
          <Field key={field} name={fieldName(field)} hint={field}>
            <FieldValue name={field} value={item[field]} of={kind.id} />
          </Field>
        ))}
    </Fields>
  );
}
