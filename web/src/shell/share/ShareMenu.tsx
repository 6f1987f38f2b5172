import { ActionIcon, Menu, Text } from '@mantine/core';
import {
  IconBrandPython,
  IconCheck,
  IconFileText,
  IconLink,
  IconPhotoDown,
  IconShare,
  IconTerminal2,
} from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { apiPath } from '../../api/client';
import { ROOT } from '../../base/root';
import { formatUrl, isFlow } from '../../base/url';
import { useTimeRange } from '../../ui/charts/useTimeRange';
import { useSavePicture } from '../../ui/picture/useSavePicture';
import { useCopied } from '../../ui/useCopied';
import { useSessionUrl } from '../../ui/useUrl';
import { asCommand, asPython, pinned } from './share';

const LOCAL = /^(localhost|127\.|\[::1\])/;

/** A menu that shares the page as a permanent link, a command, or Python code. */
export function ShareMenu() {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const { choice, bounds } = useTimeRange();
  const [copied, copy] = useCopied();
  const { savePng } = useSavePicture();
  const { origin, hostname } = window.location;
  const command = asCommand(url, origin + ROOT);
  const python = asPython(url, origin + ROOT);
  const missing = command?.missing.join(', ');
  return (
    <Menu position="bottom-end" shadow="md" width={300}>
      <Menu.Target>
        <ActionIcon
          size={30}
          aria-label={t('app.share')}
          title={t(copied ? 'common.copied' : 'app.share')}
          data-testid="share"
        >
          {copied ? <IconCheck size={18} /> : <IconShare size={18} />}
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item
          leftSection={<IconLink size={15} />}
          onClick={() => copy(origin + formatUrl(pinned(url, choice, bounds, Date.now())))}
          data-testid="share-link"
        >
          {t('app.copyLink')}
          <Text size="xs" c="dimmed">
            {LOCAL.test(hostname) ? t('app.copyLinkLocal', { host: hostname }) : t('app.copyLinkHint')}
          </Text>
        </Menu.Item>
        {command !== null && (
          <Menu.Item
            leftSection={<IconTerminal2 size={15} />}
            disabled={missing !== ''}
            onClick={() => copy(command.text)}
            data-testid="share-cli"
          >
            {t('app.copyCli')}
            <Text size="xs" c="dimmed">
              {missing === '' ? t('app.copyCliHint') : t('app.copyCliMissing', { names: missing })}
            </Text>
          </Menu.Item>
        )}
        {python !== null && (
          <Menu.Item
            leftSection={<IconBrandPython size={15} />}
            onClick={() => copy(python)}
            data-testid="share-python"
          >
            {t('app.copyPython')}
            <Text size="xs" c="dimmed">
              {t('app.copyPythonHint')}
            </Text>
          </Menu.Item>
        )}
        <Menu.Item
          component="a"
          href={apiPath('/report', { session: url.session })}
          download
          leftSection={<IconFileText size={15} />}
          data-testid="share-report"
        >
          {t('app.report')}
          <Text size="xs" c="dimmed">
            {t('app.reportHint')}
          </Text>
        </Menu.Item>
        {isFlow(url.view) && (
          <Menu.Item
            leftSection={<IconPhotoDown size={15} />}
            onClick={() =>
              void savePng(t(`nav.${url.view}`), document.querySelector<HTMLElement>('main [data-picture]'))
            }
            data-testid="share-png"
          >
            {t('app.savePicture')}
            <Text size="xs" c="dimmed">
              {t('app.savePictureHint')}
            </Text>
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
