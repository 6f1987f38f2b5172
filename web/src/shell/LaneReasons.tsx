import { useTranslation } from 'react-i18next';
import type { Lanes } from '../api/types';
import { count, shortId } from '../base/format';
import { laneReason } from '../ui/Lane';

/** Why some nodes do not send in the fast form. */
export function LaneReasons({ lanes }: { lanes: Lanes }) {
  const { t } = useTranslation();
  return (
    <table className="rs-plain-table">
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
            <td className="rs-break">{laneReason(t, found.code, found.reason)}</td>
            <td className="rs-mono">{found.address ?? shortId(found.node_id)}</td>
            <td data-align="right" className="rs-num">
              {count(found.nodes)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
