import { IconMoodEmpty } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { EmptyState } from '../../ui/EmptyState';

export function NoNodes() {
  const { t } = useTranslation();
  return (
    <EmptyState icon={<IconMoodEmpty size={26} />} title={t('nodes.empty')}>
      {t('table.emptyLive')}
    </EmptyState>
  );
}
