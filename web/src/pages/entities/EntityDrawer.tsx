import { Box } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Item } from '../../api/types';
import { type EntityView as EntityViewName, toView } from '../../base/url';
import { Drawer, Field, Fields, Section } from '../../ui/Drawer';
import { ItemState } from '../../ui/ItemState';
import { LaneName } from '../../ui/Lane';
import { Link } from '../../ui/Link';
import { LogPanel } from '../../ui/logs/LogPanel';
import { useSessionUrl } from '../../ui/useUrl';
import { isEmpty } from '../../ui/Value';
import type { Extras } from './entityExtras';
import { KINDS, PARTS } from './entityKinds';
import { FieldValue } from './FieldValue';
import { useFieldName } from './useFieldName';

/** One of them in full: its tasks, its log, and every field that it has. */
export function EntityDrawer(props: {
  view: EntityViewName;
  item: Item;
  extras: Extras | undefined;
  onClose: () => void;
}) {
  const { view, item, extras, onClose } = props;
  const kind = KINDS[view];
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const fieldName = useFieldName();
  // A job that was submitted but has no driver yet is listed by its submission id: no task has that.
  const hasTasks = /^[0-9a-f]{8,}$/.test(String(item[kind.id] ?? ''));
  return (
    <Drawer
      testId="item-drawer"
      title={String(item.class_name || item.name || item.node_name || item.entrypoint || item[kind.id] || '')}
      subtitle={<ItemState state={typeof item.state === 'string' ? item.state : null} />}
      onClose={onClose}
    >
      {hasTasks && (
        <Box component="p" px={18} pt={12}>
          <Link to={toView(url, 'tasks', { [kind.tasks]: String(item[kind.id]) })}>
            {t('entity.tasksOf')}
          </Link>
        </Box>
      )}
      {extras?.detail?.(item)}
      {(view === 'actors' || view === 'workers') && hasTasks && (
        <Section title={t('nav.logs')} testId="item-logs">
          <LogPanel of={{ [view === 'actors' ? 'actor_id' : 'worker_id']: String(item[kind.id]) }} />
        </Section>
      )}
      <Section title={t('entity.fields')}>
        <Fields>
          {[...kind.first, ...Object.keys(item).filter((field) => !kind.first.includes(field))]
            .filter((field) => field in item && !PARTS.has(field) && !extras?.hide?.has(field))
            .filter((field) => kind.first.includes(field) || !isEmpty(item[field]))
            .map((field) => (
              <Field key={field} name={fieldName(field)} hint={field}>
                {field === 'lane' ? (
                  <LaneName lane={String(item.lane)} code={item.lane_code} reason={item.lane_reason} whole />
                ) : (
                  <FieldValue name={field} value={item[field]} of={kind.id} />
                )}
              </Field>
            ))}
        </Fields>
      </Section>
    </Drawer>
  );
}
