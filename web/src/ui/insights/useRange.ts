import { useTranslation } from 'react-i18next';
import { rangeEnds } from '../../base/format';

/** A range of durations (ns) in the user's language: `20.0 to 35.0 s`, `up to 1.20 s`. */
export function useRange(): (low: number, high: number) => string {
  const { t } = useTranslation();
  return (begin, end) => {
    const [low, high] = rangeEnds(begin, end);
    if (begin === 0 && end > 0) return t('insights.upTo', { high });
    return low === '' ? high : t('insights.range', { low, high });
  };
}
