import { ActionIcon, Menu, Tooltip } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import type { RefObject } from 'react';
import { useTranslation } from 'react-i18next';
import { download } from '../../base/download';
import type { FlowView } from '../../base/url';
import type { Svg } from '../../ui/picture/picture';
import { useSavePicture } from '../../ui/picture/useSavePicture';
import { useSessionUrl } from '../../ui/useUrl';

/** Saves the content of a view: its picture, or the underlying `data`. */
export function SaveMenu(props: {
  view: FlowView;
  disabled: boolean;
  picture?: RefObject<HTMLCanvasElement | null> | (() => Svg | undefined);
  data: unknown;
  /** The shown moment, ns. By default, the range of the page. */
  moment?: number | null;
}) {
  const { view, picture, moment } = props;
  const [{ session }] = useSessionUrl();
  const { t } = useTranslation();
  const { savePng, saveSvg } = useSavePicture();
  const at = moment == null ? undefined : { from: moment / 1e6, to: moment / 1e6 };
  const item = (kind: 'svg' | 'png' | 'json', save: () => unknown) => (
    <Menu.Item onClick={save} data-testid={`${view}-${kind}`}>
      {t(`gantt.${kind}`)}
    </Menu.Item>
  );
  const made = () => (typeof picture === 'function' ? (picture() ?? null) : (picture?.current ?? null));
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <Tooltip label={t('gantt.export')}>
          <ActionIcon
            size={26}
            aria-label={t('gantt.export')}
            disabled={props.disabled}
            data-testid={`${view}-export`}
          >
            <IconDownload size={16} />
          </ActionIcon>
        </Tooltip>
      </Menu.Target>
      <Menu.Dropdown>
        {typeof picture === 'function' &&
          item('svg', () => {
            const drawn = picture();
            if (drawn) saveSvg(t(`nav.${view}`), drawn);
          })}
        {picture && item('png', () => savePng(t(`nav.${view}`), made(), at))}
        {item('json', () =>
          download(
            `${session}-${view}.json`,
            new Blob([JSON.stringify(props.data, null, 1)], { type: 'application/json' }),
          ),
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
