import { ActionIcon, Tooltip } from '@mantine/core';
import { IconArrowDown, IconArrowUp, IconTrash } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import css from './ChartTools.module.css';

/** Buttons that move or remove a chart in the editor. */
export function ChartTools(props: {
  first: boolean;
  last: boolean;
  onMove: (by: number) => void;
  onRemove: () => void;
}) {
  const { t } = useTranslation();
  const tool = (
    key: 'up' | 'down' | 'remove',
    icon: React.ReactNode,
    disabled: boolean,
    onClick: () => void,
  ) => (
    <Tooltip label={t(`metricsPage.${key}`)}>
      <ActionIcon
        size={30}
        aria-label={t(`metricsPage.${key}`)}
        disabled={disabled}
        onClick={onClick}
        data-testid={`chart-${key}`}
      >
        {icon}
      </ActionIcon>
    </Tooltip>
  );
  return (
    <div className={css.tools}>
      {tool('up', <IconArrowUp size={15} />, props.first, () => props.onMove(-1))}
      {tool('down', <IconArrowDown size={15} />, props.last, () => props.onMove(1))}
      {tool('remove', <IconTrash size={15} />, false, props.onRemove)}
    </div>
  );
}
