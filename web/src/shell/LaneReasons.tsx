import { useTranslation } from 'react-i18next';
import type { Lanes } from '../api/schema';
import { count, shortId } from '../base/format';
import { laneReason } from '../ui/Lane';
import plain from '../ui/theme/plainTable.module.css';
import words from '../ui/theme/words.module.css';

/** Why some nodes do not use the fast lane. */
export function LaneReasons({ lanes }: { lanes: Lanes }) {
  const { t } = useTranslation();
  return (
    <table className={plain.table}>
      <thead>
        <tr>
          <th>{t('banner.reason')}</th>
          <th>{t('banner.exampleNode')}</th>
          <th data-align="right">{t('banner.nodes')}</th>
        </tr>
      </thead>
      <tbody>
        {lanes.reasons.map((found) => (
          <tr key={`${found.lane}|${found.code}|${found.reason}`}>
            <td className={words.breaks}>{laneReason(t, found.code, found.reason)}</td>
            <td className={words.mono}>{found.address ?? shortId(found.node_id)}</td>
            <td data-align="right" className={words.num}>
              {count(found.nodes)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
