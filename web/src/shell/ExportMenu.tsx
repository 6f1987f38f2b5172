import { ActionIcon, Menu } from '@mantine/core';
import { IconFileExport } from '@tabler/icons-react';
import { lazy, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useHasEnded } from '../api/queries';
import { PageBoundary } from '../ui/PageBoundary';
import { RayDashboardItem } from '../ui/RayDashboardItem';
import { useSessionUrl } from '../ui/useUrl';
import css from './ExportMenu.module.css';
import { exportPath, FORMATS, sessionFilePath } from './exportPath';

const AnonymousFile = lazy(() => import('./AnonymousFile'));

/**
 * Exports the session, or the part that the page's filters select, for use in another program, or opens it in
 * Ray's dashboard.
 */
export function ExportMenu() {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const hasEnded = useHasEnded(url.session);
  const [isAnonymous, setAnonymous] = useState(false);
  const filtered = exportPath(url, 'perfetto') !== exportPath({ ...url, filters: {} }, 'perfetto');
  return (
    <>
      <Menu position="bottom-end" shadow="md" width={370}>
        <Menu.Target>
          <ActionIcon
            size={30}
            aria-label={t('exporting.title')}
            title={t('exporting.title')}
            data-testid="export-menu"
          >
            <IconFileExport size={18} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown data-testid="export-formats">
          <Menu.Label>{t(filtered ? 'exporting.filtered' : 'exporting.whole')}</Menu.Label>
          {FORMATS.map((format) => (
            <Menu.Item
              key={format}
              component="a"
              href={exportPath(url, format)}
              download
              data-testid={`export-${format}`}
            >
              <div>{t(`exporting.${format}`)}</div>
              <div className={css.hint}>{t(`exporting.${format}Hint`)}</div>
            </Menu.Item>
          ))}
          <Menu.Divider />
          <Menu.Label>{t('exporting.forRayscope')}</Menu.Label>
          <Menu.Item
            component="a"
            href={hasEnded === true ? sessionFilePath(url) : undefined}
            download
            disabled={hasEnded !== true}
            data-testid="export-session"
          >
            <div>{t('exporting.session')}</div>
            <div className={css.hint}>
              {t(hasEnded === true ? 'exporting.sessionHint' : 'exporting.sessionLive')}
            </div>
          </Menu.Item>
          <Menu.Item
            onClick={() => setAnonymous(true)}
            disabled={hasEnded !== true}
            data-testid="export-anonymous"
          >
            <div>{t('exporting.anonymous')}</div>
            <div className={css.hint}>
              {t(hasEnded === true ? 'exporting.anonymousHint' : 'exporting.sessionLive')}
            </div>
          </Menu.Item>
          <Menu.Divider />
          <RayDashboardItem session={url.session} />
        </Menu.Dropdown>
      </Menu>
      {isAnonymous && (
        <PageBoundary>
          <AnonymousFile session={url.session} onClose={() => setAnonymous(false)} />
        </PageBoundary>
      )}
    </>
  );
}
