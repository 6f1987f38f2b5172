import { ActionIcon, Menu, Tooltip } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import type { RefObject } from 'react';
import { useTranslation } from 'react-i18next';
import { download } from '../../base/download';
import { useSavePicture } from '../../ui/picture/useSavePicture';
import { useSessionUrl } from '../../ui/useUrl';

/** Saves the content of a view: its picture, or the underlying `data`. */
export function SaveMenu(props: {
  view: 'gantt' | 'physical';
  disabled: boolean;
  picture: RefObject<HTMLCanvasElement | null>;
  data: unknown;
}) {
  const [{ session }] = useSessionUrl();
  const { t } = useTranslation();
  const { savePng } = useSavePicture();
  const name = `${session}-${props.view}`;
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Tooltip label={t('gantt.export')}>
          <ActionIcon
            size={26}
            aria-label={t('gantt.export')}
            disabled={props.disabled}
            data-testid={`${props.view}-export`}
          >
            <IconDownload size={16} />
          </ActionIcon>
        </Tooltip>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item
          onClick={() => void savePng(t(`nav.${props.view}`), props.picture.current)}
          data-testid={`${props.view}-png`}
        >
          {t('gantt.png')}
        </Menu.Item>
        <Menu.Item
          onClick={() =>
            download(`${name}.json`, new Blob([JSON.stringify(props.data)], { type: 'application/json' }))
          }
          data-testid={`${props.view}-json`}
        >
          {t('gantt.json')}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
