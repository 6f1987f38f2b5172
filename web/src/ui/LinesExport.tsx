import { ActionIcon, Menu } from '@mantine/core';
import { IconFileExport } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { apiPath, type ParamsOf } from '../api/client';
import { REPORT } from '../base/report';
import words from './theme/words.module.css';
import { useSessionUrl } from './useUrl';

const FORMATS = ['speedscope', 'pprof', 'collapsed'] as const;

/** Exports the stacks of all samples for programs that show profiles. */
export function LinesExport({ of }: { of: Omit<ParamsOf<'/lines'>, 'session'> }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  if (REPORT !== null) return null;
  return (
    <Menu position="bottom-end" shadow="md" withinPortal>
      <Menu.Target>
        <ActionIcon
          size={22}
          aria-label={t('lines.export')}
          title={t('lines.export')}
          data-testid="lines-export"
        >
          <IconFileExport size={15} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{t('lines.exportTitle')}</Menu.Label>
        {FORMATS.map((format) => (
          <Menu.Item
            key={format}
            component="a"
            href={apiPath('/lines/export', { format, session: url.session, ...of })}
            download
            data-testid={`lines-export-${format}`}
          >
            <div>{t(`lines.formats.${format}`)}</div>
            <div className={words.dim}>{t(`lines.formats.${format}Hint`)}</div>
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
