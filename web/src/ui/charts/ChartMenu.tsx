import { ActionIcon, Menu } from '@mantine/core';
import { IconCopy, IconDots, IconDownload, IconMathFunction, IconPhotoDown } from '@tabler/icons-react';
import type { ReactNode, RefObject } from 'react';
import { useTranslation } from 'react-i18next';
import { copyText } from '../../base/copy';
import { download } from '../../base/download';
import { toView, withSettings } from '../../base/url';
import { useSavePicture } from '../picture/useSavePicture';
import { go, useSessionUrl } from '../useUrl';
import { formatQueries } from './queries';
import { csv, type Drawn, type Query } from './series';

/** More actions of a chart. */
export function ChartMenu(props: {
  title: string;
  queries: readonly Query[];
  data: Drawn | undefined;
  /** The element that is saved as a picture. */
  picture: RefObject<HTMLElement | null>;
  children?: ReactNode;
}) {
  const { title, queries, data } = props;
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const { savePng } = useSavePicture();
  const expr = formatQueries(queries.map((query) => query.expr));
  const { span } = url.settings ?? {};
  return (
    <Menu position="bottom-end" shadow="md" withinPortal>
      <Menu.Target>
        <ActionIcon size={24} aria-label={t('charts.more', { title })} data-testid="chart-menu">
          <IconDots size={15} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item
          leftSection={<IconMathFunction size={14} />}
          onClick={() => go(withSettings(toView(url, 'metrics'), { board: 'explore', expr, span }))}
          data-testid="chart-explore"
        >
          {t('charts.explore')}
        </Menu.Item>
        <Menu.Item
          leftSection={<IconCopy size={14} />}
          onClick={() => void copyText(queries.map((query) => query.expr).join('\n'))}
        >
          {t('charts.copyExpr')}
        </Menu.Item>
        <Menu.Item
          leftSection={<IconDownload size={14} />}
          disabled={data === undefined || data.lines.length === 0}
          onClick={() => {
            if (data === undefined) return;
            download(`${fileName(title)}.csv`, new Blob([csv(data)], { type: 'text/csv' }));
          }}
          data-testid="chart-csv"
        >
          {t('charts.csv')}
        </Menu.Item>
        <Menu.Item
          leftSection={<IconPhotoDown size={14} />}
          disabled={data === undefined || data.lines.length === 0}
          onClick={() => void savePng(title, props.picture.current, data)}
          data-testid="chart-png"
        >
          {t('charts.png')}
        </Menu.Item>
        {props.children}
      </Menu.Dropdown>
    </Menu>
  );
}

const fileName = (title: string) => title.replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '') || 'chart';
