import { Box } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Item } from '../../api/types';
import { toView } from '../../base/url';
import { Drawer, Section } from '../../ui/Drawer';
import { Link } from '../../ui/Link';
import { LogPanel } from '../../ui/logs/LogPanel';
import { Profile } from '../../ui/Profile';
import { useSessionUrl } from '../../ui/useUrl';
import { EntityFields } from './EntityFields';
import { EntityState } from './EntityState';
import type { Extras } from './entityExtras';
import { type EntityKind, KINDS } from './entityKinds';

/** An entity in full: its tasks, its log, and all its fields. */
export function EntityDrawer(props: {
  view: EntityKind;
  item: Item;
  extras: Extras | undefined;
  onClose: () => void;
}) {
  const { view, item, extras, onClose } = props;
  const kind = KINDS[view];
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const of = { [view === 'actors' ? 'actor_id' : 'worker_id']: String(item[kind.id]) };
  const hasTasks = /^[0-9a-f]{8,}$/.test(String(item[kind.id] ?? ''));
  return (
    <Drawer
      testId="item-drawer"
      title={extras?.title?.(item) ?? String(item.class_name || item.name || item[kind.id] || '')}
      subtitle={<EntityState item={item} view={view} />}
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
        <>
          <Profile of={of} canRun={item.state !== 'DEAD'} />
          <Section title={t('nav.logs')} testId="item-logs">
            <LogPanel of={of} />
          </Section>
        </>
      )}
      <Section title={t('entity.fields')}>
        <EntityFields view={view} item={item} hide={extras?.hide} />
      </Section>
    </Drawer>
  );
}
