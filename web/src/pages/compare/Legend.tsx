import { useTranslation } from 'react-i18next';
import { shareText } from '../../views/flame/flame';
import css from './Pictures.module.css';
import type { SideName } from './sides';

/** The colors of the flame graph, from the greatest decrease to the greatest increase of a frame. */
export function Legend({ most, width }: { most: number; width: SideName }) {
  const { t } = useTranslation();
  const share = shareText(most, 1);
  return (
    <span
      className={css.legend}
      title={t('compare.pictures.scaleHint', { side: t(`compare.total.${width}`) })}
      data-testid="compared-flame-legend"
    >
      {t('compare.pictures.faster')} −{share}
      <span className={css.scale} aria-hidden />+{share} {t('compare.pictures.slower')}
      <span className={css.only} aria-hidden /> {t(`compare.pictures.only.${width}`)}
    </span>
  );
}
