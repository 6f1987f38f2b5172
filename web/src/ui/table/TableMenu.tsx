import {
  ActionIcon,
  Button,
  Checkbox,
  Popover,
  ScrollArea,
  SegmentedControl,
  Stack,
  Text,
} from '@mantine/core';
import { IconDownload, IconTableOptions } from '@tabler/icons-react';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { csvOf } from '../../base/csv';
import { download } from '../../base/download';
import { count } from '../../base/format';
import { useStored } from '../useStored';
import { type Column, type Rows, tableValues } from './columns';
import { GroupBy } from './GroupBy';
import { SavedViews } from './SavedViews';
import { DENSITIES, useDensity } from './useRowHeight';

/** Maximum number of rows of a file. */
const MAX_ROWS = 50_000;

const NO_CHOICE: Record<string, boolean> = {};

export interface ColumnChoice {
  /** The choice of the user. */
  chosen: Record<string, boolean>;
  /** Whether each column is shown. */
  visibility: Record<string, boolean>;
  set: (chosen: Record<string, boolean>) => void;
}

const isShown = <T,>({ optional, needed }: Column<T>, rows: readonly T[]) =>
  !optional && (needed === undefined || rows.length === 0 || rows.some(needed));

/** The user's choice of columns for a table, kept in the browser. */
export function useColumnChoice<T>(id: string, columns: Column<T>[], rows: readonly T[]): ColumnChoice {
  const [chosen, set] = useStored(`columns.${id}`, NO_CHOICE);
  const visibility = useMemo(
    () =>
      Object.fromEntries(columns.map((column) => [column.id, chosen[column.id] ?? isShown(column, rows)])),
    [columns, chosen, rows],
  );
  return { chosen, visibility, set };
}

/** The columns and the density of a table, its rows as a file, and their number by a column. */
export function TableMenu<T extends object>(props: {
  /** The name of the table in its file's name. */
  name: string;
  columns: Column<T>[];
  choice?: ColumnChoice;
  list: Rows<T>;
}) {
  const { columns, choice } = props;
  const { t } = useTranslation();
  const [density, setDensity] = useDensity();
  const optional = columns.filter(({ header }) => header !== '');
  return (
    <Popover position="bottom-end" shadow="md" width={240} withinPortal trapFocus returnFocus>
      <Popover.Target>
        <ActionIcon size={26} aria-label={t('table.menu')} title={t('table.menu')} data-testid="table-menu">
          <IconTableOptions size={16} />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown p="xs">
        <Stack gap={8}>
          <SegmentedControl
            size="xs"
            aria-label={t('table.density')}
            value={density}
            onChange={setDensity}
            data={DENSITIES.map((value) => ({ value, label: t(`table.densities.${value}`) }))}
          />
          <Download {...props} />
          <GroupBy columns={columns} list={props.list} most={MAX_ROWS} />
          {choice !== undefined && (
            <>
              <SavedViews name={props.name} columns={choice.chosen} onColumns={choice.set} />
              <Text size="xs" c="dimmed">
                {t('common.columns')}
              </Text>
              <ScrollArea.Autosize mah={260}>
                <Stack gap={6}>
                  {optional.map((column) => (
                    <Checkbox
                      key={column.id}
                      size="xs"
                      label={column.header}
                      checked={choice.visibility[column.id] ?? true}
                      onChange={({ currentTarget }) =>
                        choice.set({ ...choice.chosen, [column.id]: currentTarget.checked })
                      }
                    />
                  ))}
                </Stack>
              </ScrollArea.Autosize>
            </>
          )}
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}

/** Saves all rows that match the filters, in their order, with the visible columns. */
function Download<T extends object>(props: {
  name: string;
  columns: Column<T>[];
  choice?: ColumnChoice;
  list: Rows<T>;
}) {
  const { columns, choice, list } = props;
  const { t } = useTranslation();
  const [isLoading, setLoading] = useState(false);
  const [error, setError] = useState<string>();
  const total = list.total ?? list.rows.length;
  const rows = Math.min(list.load === undefined ? list.rows.length : MAX_ROWS, total);
  async function save() {
    setLoading(true);
    setError(undefined);
    try {
      const loaded = list.load === undefined ? list.rows : await list.load(MAX_ROWS);
      const { names, lines } = tableValues(
        columns.filter(({ id }) => choice?.visibility[id] ?? true),
        loaded,
      );
      // With a byte-order mark, Excel reads it as UTF-8.
      const file = new Blob(['\uFEFF', csvOf(names, lines)], { type: 'text/csv' });
      download(`rayscope-${props.name}.csv`, file);
    } catch (problem) {
      setError(problem instanceof Error ? problem.message : String(problem));
    }
    setLoading(false);
  }
  return (
    <>
      <Button
        size="compact-sm"
        variant="default"
        leftSection={<IconDownload size={14} />}
        loading={isLoading}
        disabled={rows === 0}
        onClick={() => void save()}
        data-testid="table-csv"
      >
        {t('table.csv')}
      </Button>
      <Text size="xs" c={error === undefined ? 'dimmed' : 'red'} role={error && 'alert'}>
        {error ??
          t(rows < total ? 'table.csvFirst' : 'table.csvAll', { n: count(rows), total: count(total) })}
      </Text>
    </>
  );
}
