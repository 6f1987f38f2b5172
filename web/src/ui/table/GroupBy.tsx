import { Loader, NativeSelect, ScrollArea, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { cellText } from '../../base/csv';
import { count } from '../../base/format';
import words from '../theme/words.module.css';
import { type Column, type Rows, tableValues } from './columns';
import css from './GroupBy.module.css';

/** Maximum number of groups that are shown. */
const MAX_GROUPS = 50;

interface Grouped<T> {
  column: Column<T>;
  /** Undefined while the rows load. */
  groups?: ReturnType<typeof groupsOf<T & object>>;
  rows?: number;
  error?: string;
}

/** Counts the rows of a list, at most `most`, by the value of a column that the user chooses. */
export function GroupBy<T extends object>(props: { columns: Column<T>[]; list: Rows<T>; most: number }) {
  const { columns, list, most } = props;
  const { t } = useTranslation();
  const [grouped, setGrouped] = useState<Grouped<T>>();
  const total = list.total ?? list.rows.length;
  async function group(column: Column<T> | undefined) {
    setGrouped(column && { column });
    if (column === undefined) return;
    // The user may have chosen another column meanwhile.
    const show = (more: Partial<Grouped<T>>) =>
      setGrouped((now) => (now?.column === column ? { column, ...more } : now));
    try {
      const rows = list.load === undefined ? list.rows : await list.load(most);
      show({ groups: groupsOf(column, rows), rows: rows.length });
    } catch (problem) {
      show({ error: problem instanceof Error ? problem.message : String(problem) });
    }
  }
  const { column, groups = [], rows, error } = grouped ?? {};
  const left = groups.length - MAX_GROUPS;
  return (
    <>
      <Text size="xs" c="dimmed">
        {t('table.groupBy')}
      </Text>
      <NativeSelect
        size="xs"
        aria-label={t('table.groupBy')}
        value={column?.id ?? ''}
        onChange={({ currentTarget }) => void group(columns.find(({ id }) => id === currentTarget.value))}
        data={[
          { value: '', label: t('table.noGroups') },
          ...columns
            .filter(({ header }) => header !== '')
            .map(({ id, header }) => ({ value: id, label: header })),
        ]}
        data-testid="table-group-by"
      />
      {error !== undefined && (
        <Text size="xs" c="red" role="alert">
          {error}
        </Text>
      )}
      {column !== undefined && rows === undefined && error === undefined && (
        <Loader size="xs" role="status" aria-label={t('table.loadingMore')} />
      )}
      {column !== undefined && rows !== undefined && (
        <ScrollArea.Autosize mah={220}>
          <ul className={css.groups} data-testid="table-groups">
            {groups.slice(0, MAX_GROUPS).map((one) => (
              <li key={one.text}>
                <span className={words.ellipsis}>{column.cell(one.row)}</span>
                <span className={words.num}>{count(one.rows)}</span>
              </li>
            ))}
          </ul>
          {left > 0 && (
            <Text size="xs" c="dimmed">
              {t('table.moreGroups', { n: count(left) })}
            </Text>
          )}
        </ScrollArea.Autosize>
      )}
      {rows !== undefined && rows < total && (
        <Text size="xs" c="dimmed">
          {t('table.groupedFirst', { n: count(rows), total: count(total) })}
        </Text>
      )}
    </>
  );
}

/** The values of a column with a row of each and the number of rows, most frequent first. */
export function groupsOf<T extends object>(column: Column<T>, rows: readonly T[]) {
  const groups = new Map<string, { text: string; row: T; rows: number }>();
  const { lines } = tableValues([column], rows);
  rows.forEach((row, at) => {
    const text = cellText(lines[at]?.[0]);
    const group = groups.get(text);
    if (group === undefined) groups.set(text, { text, row, rows: 1 });
    else group.rows += 1;
  });
  return [...groups.values()].sort((a, b) => b.rows - a.rows || a.text.localeCompare(b.text));
}
