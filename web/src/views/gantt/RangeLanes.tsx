import { useTranslation } from 'react-i18next';
import type { RangeLane } from '../../api/schema';
import { bytes, count, duration, percent } from '../../base/format';
import words from '../../ui/theme/words.module.css';
import shared from './gantt.module.css';
import { laneLabel } from './ganttLanes';
import type { RangeAnswer } from './useRange';

/** The busiest workers, nodes or actors in the range. */
export function RangeLanes({ answer, onPick }: { answer: RangeAnswer; onPick: (lane: RangeLane) => void }) {
  const { t } = useTranslation();
  const length = Math.max(1, answer.until_ns - answer.since_ns);
  const left = answer.lanes_total - answer.lanes.length;
  if (answer.lanes.length === 0) return null;
  return (
    <div className={shared.rangePart} data-testid="gantt-range-lanes">
      <h4 title={t('range.busyHint')}>{t(`range.busy.${answer.by}`)}</h4>
      <ul>
        {answer.lanes.map((lane) => {
          const { text, detail } = laneLabel(t, lane);
          const share = lane.share ?? Math.min(1, lane.busy_ns / length);
          return (
            <li key={lane.id}>
              <button
                type="button"
                className={shared.part}
                title={t('gantt.tipLanePick')}
                disabled={lane.id === ''}
                onClick={() => onPick(lane)}
                data-testid="gantt-range-lane"
              >
                <span className={shared.partName}>
                  <span className={words.ellipsis}>{text.trim()}</span>
                  <span className={`${shared.more} ${words.dim} ${words.num}`}>
                    {lane.kind === 'worker' && detail !== '' && `${detail} · `}
                    {count(lane.attempts)}×
                    {lane.max_memory !== null &&
                      ` · ${t('gantt.memoryUpTo', { size: bytes(lane.max_memory) })}`}
                    {lane.rows !== null && lane.rows > 1 && ` · ${t('range.rows', { n: count(lane.rows) })}`}
                  </span>
                </span>
                <span className={`${shared.partTime} ${words.num}`}>
                  {lane.share === null ? '–' : `${percent(lane.share)}%`}
                  <span className={words.dim}>{duration(lane.busy_ns)}</span>
                </span>
                <span className={shared.partBar} style={{ width: `${share * 100}%` }} />
              </button>
            </li>
          );
        })}
      </ul>
      {left > 0 && (
        <p className={`${words.dim} ${words.num}`}>
          {t('range.leftOut', { n: count(left), span: duration(answer.lanes_left_out_ns) })}
        </p>
      )}
    </div>
  );
}
