import { useTranslation } from 'react-i18next';
import type { LiveList } from '../../api/useLiveList';
import { count } from '../../base/format';
import words from '../theme/words.module.css';

/** The number of rows of a list. With `loaded`, also the number of those that are loaded. */
export function TableCount<T>({ list, loaded }: { list: LiveList<T>; loaded?: boolean }) {
  const { t } = useTranslation();
  const { total, rows } = list;
  return (
    <span
      className={`${words.num} ${words.dim} ${words.small}`}
      data-testid="table-count"
      data-total={total ?? undefined}
    >
      {total !== null &&
        (loaded
          ? t('table.loaded', { loaded: count(rows.length), total: count(total) })
          : t('table.all', { n: count(total), total: count(total) }))}
    </span>
  );
}
