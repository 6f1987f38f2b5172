import { useTranslation } from 'react-i18next';
import { clockTime } from '../lib/format';

/** Until when sums tell that are older than what is on record; nothing of those that are not. */
export function AsOf({ at }: { at: number | null }) {
  const { t } = useTranslation();
  if (at === null) return null;
  return (
    <span className="rs-dim rs-num" title={t('flame.asOfHint')} data-testid="sums-at">
      {t('flame.asOf', { time: clockTime(at) })}
    </span>
  );
}
