import { Anchor } from '@mantine/core';
import { IconFilterX } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { EmptyState } from './EmptyState';
import { useSessionUrl } from './useUrl';

/** There is something, but the filters leave nothing of it. */
export function NothingFound({ title }: { title?: string }) {
  const [, change] = useSessionUrl();
  const { t } = useTranslation();
  return (
    <EmptyState icon={<IconFilterX size={26} />} title={title ?? t('table.emptyFiltered')}>
      <Anchor component="button" size="sm" onClick={() => change((before) => ({ ...before, filters: {} }))}>
        {t('common.clearFilters')}
      </Anchor>
    </EmptyState>
  );
}
