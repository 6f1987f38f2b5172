import { IconArrowDown, IconArrowUp } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import words from '../theme/words.module.css';
import type { Column } from './columns';
import css from './DataTable.module.css';

/** A column's header. A click sorts in descending order, and a second click reverses it. */
export function HeaderCell<T>(props: {
  column: Column<T>;
  sort: string | undefined;
  onSort: ((sort: string | undefined) => void) | undefined;
}) {
  const { column, sort, onSort } = props;
  const { t } = useTranslation();
  const field = column.sort;
  const down = field !== undefined && sort === `-${field}`;
  const up = field !== undefined && sort === field;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a header of positioned rows.
    <div
      className={css.headCell}
      role="columnheader"
      tabIndex={-1}
      data-align={column.align}
      aria-label={column.header === '' ? column.hint : undefined}
      aria-sort={down ? 'descending' : up ? 'ascending' : undefined}
    >
      {field !== undefined && onSort !== undefined ? (
        <button
          type="button"
          className={css.sort}
          data-on={down || up || undefined}
          title={[column.hint, t('common.sort', { column: column.header })].filter(Boolean).join('\n')}
          onClick={() => onSort(down ? field : `-${field}`)}
        >
          <span className={words.ellipsis}>{column.header}</span>
          {/* Always rendered, so that the header does not move when the order changes. */}
          <span className={css.sortIcon}>{up ? <IconArrowUp size={13} /> : <IconArrowDown size={13} />}</span>
        </button>
      ) : (
        <span className={words.ellipsis} title={column.hint ?? column.header}>
          {column.header}
        </span>
      )}
    </div>
  );
}
