import { useTranslation } from 'react-i18next';
import { count, percent } from '../../base/format';
import { ShareBar } from '../../ui/ShareBar';
import words from '../../ui/theme/words.module.css';
import css from './data.module.css';
import { share } from './dataset';

/** Finished blocks out of the total. */
export function Progress({
  of,
}: {
  of: { state: string | null; progress: number | null; total: number | null };
}) {
  const { t } = useTranslation();
  const part = share(of);
  const made = t('data.blocks', { n: of.progress ?? 0, count: count(of.progress ?? 0) });
  return (
    <span className={css.progress} title={made}>
      {part !== null && <ShareBar share={part} />}
      <span className={`${words.num} ${words.dim}`}>
        {part === null ? made : `${percent(part)}%${of.progress ? ` · ${made}` : ''}`}
      </span>
    </span>
  );
}
