import { ActionIcon, Checkbox, Popover, ScrollArea, Stack, Tooltip } from '@mantine/core';
import { IconColumns3 } from '@tabler/icons-react';
import type { ColumnVisibilityState } from '@tanstack/react-table';
import { useCallback, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { load, save } from '../../base/storage';
import type { Column } from './columns';

export interface ColumnChoice {
  visibility: ColumnVisibilityState;
  set: (column: string, shown: boolean) => void;
}

const isShown = <T,>({ optional, needed }: Column<T>, rows: readonly T[]) =>
  !optional && (needed === undefined || rows.length === 0 || rows.some(needed));

/** The user's choice of columns for a table, kept in the browser. */
export function useColumnChoice<T>(id: string, columns: Column<T>[], rows: readonly T[]): ColumnChoice {
  const [choice, setChoice] = useState<ColumnVisibilityState>(() => {
    try {
      const stored: unknown = JSON.parse(load(`columns.${id}`) ?? '{}');
      return typeof stored === 'object' && stored !== null ? (stored as ColumnVisibilityState) : {};
    } catch {
      return {};
    }
  });
  const visibility = useMemo<ColumnVisibilityState>(
    () =>
      Object.fromEntries(columns.map((column) => [column.id, choice[column.id] ?? isShown(column, rows)])),
    [columns, choice, rows],
  );
  const set = useCallback(
    (column: string, shown: boolean) =>
      setChoice((before) => {
        const next = { ...before, [column]: shown };
        save(`columns.${id}`, JSON.stringify(next));
        return next;
      }),
    [id],
  );
  return { visibility, set };
}

/** The button that chooses the columns. It is in the bar above the table, where it covers no column. */
export function ColumnChooser<T>(props: { columns: Column<T>[]; choice: ColumnChoice }) {
  const { t } = useTranslation();
  return (
    <Popover position="bottom-end" shadow="md" withinPortal>
      <Popover.Target>
        <Tooltip label={t('common.columns')}>
          <ActionIcon size={26} aria-label={t('common.columns')} data-testid="column-chooser">
            <IconColumns3 size={16} />
          </ActionIcon>
        </Tooltip>
      </Popover.Target>
      <Popover.Dropdown p="xs">
        <ScrollArea.Autosize mah={360}>
          <Stack gap={6}>
            {props.columns
              .filter(({ header }) => header !== '')
              .map((column) => (
                <Checkbox
                  key={column.id}
                  size="xs"
                  label={column.header}
                  checked={props.choice.visibility[column.id] ?? true}
                  onChange={(event) => props.choice.set(column.id, event.currentTarget.checked)}
                />
              ))}
          </Stack>
        </ScrollArea.Autosize>
      </Popover.Dropdown>
    </Popover>
  );
}
