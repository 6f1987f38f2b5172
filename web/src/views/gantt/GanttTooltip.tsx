import { useTranslation } from 'react-i18next';
import type { FindingItem, GanttAnswer, GanttLane } from '../../api/schema';
import { bytes, count, duration, shortId } from '../../base/format';
import { Severity } from '../../ui/alerts/Severity';
import type { Size } from '../../ui/canvas';
import { useFindingTexts } from '../../ui/insights/useFindingTexts';
import tips from '../../ui/theme/tip.module.css';
import words from '../../ui/theme/words.module.css';
import shared from './gantt.module.css';
import { parallelismText } from './ganttLanes';
import { QUIET_SHARE } from './ganttLayout';
import { runningAt } from './ganttProfile';
import type { Hit } from './useGanttHit';
import type { GanttModel } from './useGanttModel';

/** Details of the bar under the pointer or, if the pointer is to the left of the bars, of the lane. */
export function GanttTooltip(
  props: {
    model: GanttModel;
    size: Size;
    /** Where the bars begin on the canvas, px. */
    left: number;
    /** Whether a click on a lane's name filters by it. */
    canPick: boolean;
    x: number;
    y: number;
  } & Hit,
) {
  const { x, y, bar, row, time, size } = props;
  const { data, index, lanes, labels, profile, nodeProfile } = props.model;
  const { t } = useTranslation();
  const isName = x < props.left;
  const lane = row?.kind === 'lane' && isName ? lanes.get(row.lane) : undefined;
  const label = row ? labels(row) : undefined;
  const running = row?.kind === 'node' ? nodeProfile(row.lane) : row?.folded ? profile(row.lane) : null;
  const isBand = !isName && running !== null && row?.kind !== 'quiet';
  if (data === undefined || (bar < 0 && lane === undefined && !isBand && row?.kind !== 'quiet')) return null;
  return (
    <div
      className={tips.tip}
      style={{
        left: Math.min(x + 14, Math.max(0, size.width - 290)),
        top: Math.min(y + 16, Math.max(0, size.height - 110)),
      }}
    >
      {bar >= 0 ? (
        <>
          <BarTooltip data={data} bar={bar} detail={index?.detail.get(bar)} />
          {props.model.paused.has(bar) && <div>{t('debugger.pausedHint')}</div>}
        </>
      ) : (
        <>
          {lane ? (
            <LaneTooltip
              lane={lane}
              label={label}
              finding={props.model.findingOf(lane)}
              canPick={props.canPick}
            />
          ) : (
            <b>{label?.text}</b>
          )}
          {isBand && (
            <div>
              {t('gantt.runningAt', {
                n: parallelismText(runningAt(running, time)),
                most: parallelismText(running.most),
              })}
            </div>
          )}
          {row?.kind === 'quiet' && <div>{t('gantt.quietHint', { share: QUIET_SHARE * 100 })}</div>}
          {row?.folds && <div className={words.dim}>{t(row.folded ? 'gantt.unfold' : 'gantt.fold')}</div>}
        </>
      )}
    </div>
  );
}

function BarTooltip({ data, bar, detail }: { data: GanttAnswer; bar: number; detail: number | undefined }) {
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
      <b className={words.breaks}>{name}</b>
      {n > 1 ? (
        <div>
          {t('gantt.tipMerged', { n: count(n), span: duration(length), busy: duration(bars.busy[bar]) })}
        </div>
      ) : (
        <div>
          {duration(length)} · {t(`gantt.state.${state}`)}
          {(bars.attempt[bar] as number) > 0 &&
            ` · ${t('gantt.attempt', { n: (bars.attempt[bar] as number) + 1 })}`}
        </div>
      )}
      {n > 1 && failed > 0 && <div className={shared.bad}>{t('gantt.tipFailed', { n: count(failed) })}</div>}
      <MemoryLine data={data} bar={bar} />
      {created !== null && created !== undefined && created < 0 && (
        <div className={words.dim}>{t('gantt.tipWaited', { span: duration(-created) })}</div>
      )}
      <div className={words.dim}>
        {n > 1 ? t('gantt.tipLongest') : ''}{' '}
        <span className={words.mono}>{shortId(bars.task_id[bar] ?? '')}</span>
      </div>
    </>
  );
}

/** The peak memory of a bar. Hidden if nothing was measured, or the attempts have not started. */
function MemoryLine({ data, bar }: { data: GanttAnswer; bar: number }) {
  const { t } = useTranslation();
  const peak = data.bars.peak_memory[bar] ?? null;
  if (data.max_memory === null || data.states[data.bars.state[bar] as number] === 'waiting') return null;
  if (peak === null) return <div className={words.dim}>{t('gantt.tipNoMemory')}</div>;
  const isShared = data.memory_shared.includes(bar);
  return (
    <div>
      {t((data.bars.count[bar] as number) > 1 ? 'gantt.tipLargestMemory' : 'gantt.tipMemory', {
        size: bytes(peak),
      })}
      {isShared && <span className={words.dim}> · {t('gantt.tipShared')}</span>}
    </div>
  );
}

function LaneTooltip(props: {
  lane: GanttLane;
  label?: { text: string; detail: string };
  finding: FindingItem | undefined;
  canPick: boolean;
}) {
  const { lane, label, finding } = props;
  const { t } = useTranslation();
  const texts = useFindingTexts();
  return (
    <>
      <b className={words.breaks}>{label?.text.trim()}</b>
      {lane.kind === 'worker' && label?.detail && <div>{label.detail}</div>}
      {lane.id && lane.kind !== 'function' && lane.kind !== 'path' && (
        <div className={`${words.mono} ${words.breaks}`}>{lane.id}</div>
      )}
      <div>{t('gantt.tipLane', { n: count(lane.attempts), busy: duration(lane.busy_ns) })}</div>
      {lane.max_memory !== null && <div>{t('gantt.tipLargestMemory', { size: bytes(lane.max_memory) })}</div>}
      {finding && (
        <div>
          <Severity severity={finding.severity} /> {texts.title(finding.kind, finding.title)}:{' '}
          {texts.gain(finding)}
        </div>
      )}
      {lane.folded > 0 && <div className={words.dim}>{t('gantt.folded', { n: count(lane.folded) })}</div>}
      {props.canPick && lane.kind !== 'not_placed' && (
        <div className={words.dim}>{t('gantt.tipLanePick')}</div>
      )}
    </>
  );
}
