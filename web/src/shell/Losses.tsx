import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import type { Dropped } from '../api/schema';
import { clockTime, count, time } from '../base/format';
import plain from '../ui/theme/plainTable.module.css';
import words from '../ui/theme/words.module.css';

/**
 * Whether everything that was dropped has been recovered by a complete reading of the tasks from Ray’s GCS.
 */
export function isRepaired(dropped: Dropped | null): boolean {
  return dropped !== null && dropped.repaired_total >= dropped.total && !dropped.repaired_partly;
}

/** Whether and when the dropped data was recovered, in words. */
export function repaired(dropped: Dropped | null, t: TFunction): string {
  if (dropped === null || dropped.repaired_ns === null || dropped.repaired_total < dropped.total)
    return t('banner.notRepaired');
  const at = time(dropped.repaired_ns);
  return t(dropped.repaired_partly ? 'banner.repairedPartly' : 'banner.repaired', { at });
}

/** A table of what was dropped, by source and reason. */
export function Losses({ by }: { by: Dropped['by'] }) {
  const { t, i18n } = useTranslation();
  const timed = by.some((drop) => drop.first_ns !== null);
  return (
    <table className={plain.table}>
      <thead>
        <tr>
          <th>{t('banner.source')}</th>
          <th>{t('banner.reason')}</th>
          {timed && <th>{t('banner.when')}</th>}
          <th data-align="right">{t('banner.count')}</th>
        </tr>
      </thead>
      <tbody>
        {by.map((drop) => (
          <tr key={`${drop.source}|${drop.reason}|${drop.event_type}`}>
            <td className={`${words.mono} ${words.breaks}`}>{drop.source}</td>
            <td className={words.breaks} title={drop.reason}>
              {i18n.exists(`banner.reasons.${drop.reason}`)
                ? t(`banner.reasons.${drop.reason}` as 'banner.reasons.truncated')
                : drop.reason}
              {drop.event_type !== '' && (
                <span className={`${words.mono} ${words.dim}`}> {drop.event_type}</span>
              )}
            </td>
            {timed && (
              <td className={words.num}>
                {drop.first_ns !== null && drop.last_ns !== null
                  ? `${clockTime(drop.first_ns)} – ${clockTime(drop.last_ns)}`
                  : '–'}
              </td>
            )}
            <td data-align="right" className={words.num}>
              {count(drop.count)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
