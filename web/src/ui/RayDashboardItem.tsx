import { Menu } from '@mantine/core';
import { IconExternalLink } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { useSessions } from '../api/queries';
import { ROOT } from '../base/root';
import words from './theme/words.module.css';

/** Opens a session in Ray's own dashboard, as a menu item. */
export function RayDashboardItem({ session }: { session: string }) {
  const { t } = useTranslation();
  const isInstalled = useSessions((page) => page.ray_dashboard).data === true;
  return (
    <Menu.Item
      component="a"
      href={isInstalled ? `${ROOT}/ray/${encodeURIComponent(session)}/` : undefined}
      target="_blank"
      rel="noreferrer"
      disabled={!isInstalled}
      leftSection={<IconExternalLink size={14} />}
      data-testid="ray-dashboard"
    >
      <div>{t('app.rayDashboard')}</div>
      {!isInstalled && <div className={words.dim}>{t('app.rayDashboardMissing')}</div>}
    </Menu.Item>
  );
}
