import { useTranslation } from 'react-i18next';
import { count, duration, shortId } from '../../base/format';
import shared from './gantt.module.css';
import type { Gantt, GanttLane } from './ganttData';

/** What is under the pointer. */
export function BarTooltip({ data, bar, detail }: { data: Gantt; bar: number; detail: number | undefined }) {
  const { t } = useTranslation();
  const { bars } = data;
  const n = bars.count[bar] as number;
  const name = data.names[bars.name[bar] as number];
  const length = (bars.end[bar] as number) - (bars.begin[bar] as number);
  const created = detail === undefined ? null : data.details.created[detail];
  const state = data.states[bars.state[bar] as number] as 'finished';
  const failed = bars.failed[bar] as number;
  return (
    <>
      <b className="rs-break">{name}</b>
      {n > 1 ? (
        <div>
          {t('gantt.tipMerged', { n: count(n), span: duration(length), busy: duration(bars.busy[bar]) })}
        </div>
      ) : (
        <div>
          {duration(length)} · {t(`gantt.state.${state}`)}
          {(bars.attempt[bar] as number) > 0 && ` · ${t('gantt.attempt', { n: bars.attempt[bar] })}`}
        </div>
      )}
      {n > 1 && failed > 0 && <div className={shared.bad}>{t('gantt.tipFailed', { n: count(failed) })}</div>}
      {created !== null && created !== undefined && created < 0 && (
        <div className="rs-dim">{t('gantt.tipWaited', { span: duration(-created) })}</div>
      )}
      <div className="rs-dim">
        {n > 1 ? t('gantt.tipLongest') : ''}{' '}
        <span className="rs-mono">{shortId(bars.task_id[bar] ?? '')}</span>
      </div>
    </>
  );
}

export function LaneTooltip({ lane, text }: { lane: GanttLane; text: string }) {
  const { t } = useTranslation();
  return (
    <>
      <b className="rs-break">{text.trim()}</b>
      {lane.id && lane.kind !== 'function' && lane.kind !== 'path' && (
        <div className="rs-mono rs-break">{lane.id}</div>
      )}
      <div>{t('gantt.tipLane', { n: count(lane.attempts), busy: duration(lane.busy_ns) })}</div>
      {lane.folded > 0 && <div className="rs-dim">{t('gantt.folded', { n: count(lane.folded) })}</div>}
      {lane.kind !== 'not_placed' && <div className="rs-dim">{t('gantt.tipLanePick')}</div>}
    </>
  );
}
