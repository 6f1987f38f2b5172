import { ActionIcon, Menu } from '@mantine/core';
import { IconBraces, IconCopy, IconDots } from '@tabler/icons-react';
import { memo, type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Column } from './columns';
import css from './DataTable.module.css';

export type CopyForm = 'text' | 'json';

interface TableRowProps<T extends object> {
  row: T;
  rowKey: string;
  columns: Column<T>[];
  at: number;
  top: number;
  id: string;
  selected: boolean;
  clickable: boolean;
  onOpen: (row: T, inNewTab: boolean) => void;
  onCopy: (row: T, form: CopyForm) => void;
  actions: ((row: T) => ReactNode) | undefined;
  testId: string;
  kind: string | undefined;
}

function PlainRow<T extends object>(props: TableRowProps<T>) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: rows are positioned, which a <tr> cannot be.
    // biome-ignore lint/a11y/useKeyWithClickEvents: the table handles the keys for its rows.
    <div
      className={css.row}
      role="row"
      id={props.id}
      tabIndex={-1}
      aria-rowindex={props.at + 1}
      aria-selected={props.selected}
      data-testid={props.testId}
      data-kind={props.kind}
      data-key={props.rowKey}
      data-odd={props.at % 2 === 1 || undefined}
      data-clickable={props.clickable || undefined}
      style={{ transform: `translateY(${props.top}px)` }}
      onClick={(event) => {
        // Selecting text is not a click.
        if (window.getSelection()?.type !== 'Range') props.onOpen(props.row, event.ctrlKey || event.metaKey);
      }}
    >
      {props.columns.map((column) => (
        // biome-ignore lint/a11y/useSemanticElements: see above.
        // biome-ignore lint/a11y/useFocusableInteractive: the row is selected as a whole.
        <div
          key={column.id}
          className={css.cell}
          role="gridcell"
          data-column={column.id}
          data-align={column.align}
        >
          {column.cell(props.row)}
        </div>
      ))}
      {/* biome-ignore lint/a11y/useSemanticElements: see above. */}
      {/* biome-ignore lint/a11y/useFocusableInteractive: the button inside takes the focus. */}
      <span className={css.rowEnd} role="gridcell">
        <RowMenu row={props.row} onCopy={props.onCopy} actions={props.actions} />
      </span>
    </div>
  );
}

/** Copies the row, and offers the page's own actions. The menu is made when it is first opened. */
function RowMenu<T extends object>(props: Pick<TableRowProps<T>, 'row' | 'onCopy' | 'actions'>) {
  const { row, onCopy, actions } = props;
  const { t } = useTranslation();
  const [opened, setOpened] = useState<boolean>();
  const button = (
    <ActionIcon
      size={22}
      className={css.rowMenu}
      aria-label={t('table.rowMenu')}
      title={t('table.rowMenu')}
      onClick={(event) => {
        event.stopPropagation();
        setOpened(true);
      }}
      data-testid="row-menu"
    >
      <IconDots size={15} />
    </ActionIcon>
  );
  if (opened === undefined) return button;
  return (
    <Menu position="bottom-end" shadow="md" opened={opened} onChange={setOpened}>
      <Menu.Target>{button}</Menu.Target>
      <Menu.Dropdown onClick={(event) => event.stopPropagation()}>
        {actions?.(row)}
        <Menu.Item leftSection={<IconCopy size={14} />} onClick={() => onCopy(row, 'text')}>
          {t('table.copyText')}
        </Menu.Item>
        <Menu.Item leftSection={<IconBraces size={14} />} onClick={() => onCopy(row, 'json')}>
          {t('table.copyJson')}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

/** Renders again only when the row's values, place, selection or columns change. */
export const TableRow = memo(
  PlainRow,
  (a, b) =>
    a.row === b.row &&
    a.columns === b.columns &&
    a.at === b.at &&
    a.top === b.top &&
    a.selected === b.selected &&
    a.onOpen === b.onOpen,
) as typeof PlainRow;
