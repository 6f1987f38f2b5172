import { useTranslation } from 'react-i18next';
import { count } from '../../base/format';
import words from '../theme/words.module.css';

/**
 * The number of rows of a list. With `loaded`, also the number of those that are loaded. `text` says it in
 * other words.
 */
export function TableCount(props: {
  list: { total: number | null; rows?: readonly unknown[] };
  loaded?: boolean;
  text?: string;
}) {
  const { t } = useTranslation();
  const { total, rows = [] } = props.list;
  return (
    <span
      className={`${words.num} ${words.dim} ${words.small}`}
      data-testid="table-count"
      data-total={total ?? undefined}
    >
      {props.text ??
        (total !== null &&
          (props.loaded
            ? t('table.loaded', { loaded: count(rows.length), total: count(total) })
            : t('table.all', { n: count(total), total: count(total) })))}
    </span>
  );
}
