import { ActionIcon, Tooltip } from '@mantine/core';
import { IconX } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { clockTime, count, duration, fullTime, percent } from '../../base/format';
import { PHASE_STATES, SCHEDULING_PHASES } from '../../base/scheduling';
import { stateColor } from '../../base/tokens';
import { toFlow, withFilter, withSettings } from '../../base/url';
import { usePalette } from '../../ui/canvas';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { Link } from '../../ui/Link';
import { orderedStates, StackedBar } from '../../ui/StackedBar';
import { useStateName } from '../../ui/useStateName';
import { useSessionUrl } from '../../ui/useUrl';
import { formatRange, lengthOf, middleOf, parseRange, type TimeRange } from '../shared/range';
import css from './GanttRange.module.css';
import shared from './gantt.module.css';
import type { GanttLane } from './ganttData';
import { laneLabel } from './ganttLanes';
import type { RangeAnswer, RangeLane } from './useRange';

/** What happened in a range of time, and ways on from there. */
export function GanttRange(props: {
  range: TimeRange;
  answer: RangeAnswer | undefined;
  outdated: boolean;
  error: Error | null;
  onZoom: () => void;
  onLanePick: (lane: Pick<GanttLane, 'kind' | 'id' | 'label'>) => void;
}) {
  const { range, answer } = props;
  const [, change] = useSessionUrl();
  const { t } = useTranslation();
  return (
    <section
      className={`${shared.path} ${shared.range}`}
      aria-label={t('range.title')}
      data-testid="gantt-range"
    >
      <div className={shared.pathHead}>
        <h3>{t('range.title')}</h3>
        <span className="rs-num rs-dim" data-testid="gantt-range-length">
          {duration(lengthOf(range))}
        </span>
        <Tooltip label={t('range.clear')}>
          <ActionIcon
            size={22}
            aria-label={t('range.clear')}
            onClick={() => change((before) => withSettings(before, { range: undefined }))}
            data-testid="gantt-range-clear"
          >
            <IconX size={14} />
          </ActionIcon>
        </Tooltip>
      </div>
      <p
        className={`rs-dim rs-num ${shared.pathText}`}
        title={`${fullTime(range.from)}\n${fullTime(range.to)}`}
      >
        {clockTime(range.from)} – {clockTime(range.to)}
      </p>
      <WaysOn range={range} onZoom={props.onZoom} />
      {answer === undefined ? (
        props.error ? (
          <ErrorPanel error={props.error} />
        ) : (
          <p className={`rs-dim ${shared.pathText}`} role="status">
            {t('range.reading')}
          </p>
        )
      ) : (
        <div data-outdated={props.outdated || undefined} className={css.numbers}>
          <Sums answer={answer} />
          {answer.attempts > 0 && (
            <>
              <Phases answer={answer} />
              <Functions answer={answer} />
              <Lanes answer={answer} onPick={props.onLanePick} />
            </>
          )}
        </div>
      )}
    </section>
  );
}

/** Links to the other views of the range, and what it can be compared with. */
function WaysOn({ range, onZoom }: { range: TimeRange; onZoom: () => void }) {
  const [url, change] = useSessionUrl();
  const { t } = useTranslation();
  const kept = parseRange(url.settings?.vs);
  const isKept = kept !== null && formatRange(kept) === formatRange(range);
  const within = { ...url, filters: { ...url.filters, since_ns: range.from, until_ns: range.to } };
  const flame = (vs: string | undefined) => withSettings(toFlow(within, 'flame'), { vs });
  const set = (vs: string | undefined) => change((before) => withSettings(before, { vs }));
  return (
    <div className={css.ways}>
      <button type="button" className="rs-link" onClick={onZoom} data-testid="gantt-range-zoom">
        {t('range.zoom')}
      </button>
      <Link to={flame(undefined)} testId="gantt-range-flame">
        {t('range.flame')}
      </Link>
      <Link to={withSettings(toFlow(url, 'stack'), { at: middleOf(range) })} testId="gantt-range-stack">
        {t('range.stack')}
      </Link>
      <span className="rs-dim">{t('range.compare')}</span>
      <Link to={flame('rest')} testId="gantt-range-rest">
        {t('range.withRest')}
      </Link>
      {kept === null || isKept ? (
        <button
          type="button"
          className="rs-link"
          title={t('range.keepHint')}
          aria-pressed={isKept}
          onClick={() => set(isKept ? undefined : formatRange(range))}
          data-testid="gantt-range-keep"
        >
          {t(isKept ? 'range.kept' : 'range.keep')}
        </button>
      ) : (
        <>
          <Link to={flame(formatRange(kept))} testId="gantt-range-compare">
            {t('range.withKept', { from: clockTime(kept.from), span: duration(lengthOf(kept)) })}
          </Link>
          <button type="button" className="rs-link" onClick={() => set(undefined)}>
            {t('range.forget')}
          </button>
        </>
      )}
    </div>
  );
}

const atATime = (mean: number) => mean.toFixed(mean < 10 ? 2 : mean < 100 ? 1 : 0);

function Sums({ answer }: { answer: RangeAnswer }) {
  const { t } = useTranslation();
  const name = useStateName();
  const { mean, most } = answer.running;
  return (
    <div className="rs-range-part">
      <p>
        <b className="rs-num" data-testid="gantt-range-attempts">
          {t('range.attempts', { n: count(answer.attempts) })}
        </b>
      </p>
      {answer.attempts > 0 && (
        <>
          <StackedBar states={answer.states} />
          <p className={css.states}>
            {orderedStates(answer.states).map(([state, many]) => (
              <span key={state} className="rs-state rs-num">
                <span className="rs-dot" style={{ background: stateColor(state) }} />
                {name(state)} <b>{count(many)}</b>
              </span>
            ))}
          </p>
          <p className="rs-dim rs-num" data-testid="gantt-range-running">
            {most === null
              ? t('range.meanOnly', { mean: atATime(mean) })
              : t('range.running', { mean: atATime(mean), most: count(most) })}
          </p>
        </>
      )}
    </div>
  );
}

function Phases({ answer }: { answer: RangeAnswer }) {
  const { t } = useTranslation();
  const parts = SCHEDULING_PHASES.map((phase) => ({ phase, spent: answer.phases[phase] })).filter(
    (part) => part.spent > 0,
  );
  const all = parts.reduce((sum, part) => sum + part.spent, 0);
  return (
    <div className="rs-range-part" data-testid="gantt-range-phases">
      <h4>{t('range.phases')}</h4>
      <div className="rs-timeline">
        {parts.map(({ phase, spent }) => (
          <span
            key={phase}
            title={`${t(`flow.phase.${phase}`)}: ${duration(spent)}`}
            style={{ flexGrow: spent / all, background: stateColor(PHASE_STATES[phase]) }}
          />
        ))}
      </div>
      <table className="rs-plain-table rs-timeline-table">
        <tbody>
          {parts.map(({ phase, spent }) => (
            <tr key={phase} data-phase={phase} title={t(`flow.phaseHint.${phase}`)}>
              <td>
                <span className="rs-state">
                  <span className="rs-dot" style={{ background: stateColor(PHASE_STATES[phase]) }} />
                  {t(`flow.phase.${phase}`)}
                </span>
              </td>
              <td data-align="right" className="rs-num">
                {duration(spent)}
              </td>
              <td data-align="right" className="rs-num rs-dim">
                {percent(spent / all)}%
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Functions({ answer }: { answer: RangeAnswer }) {
  const [, change] = useSessionUrl();
  const { t } = useTranslation();
  const look = usePalette();
  const all = Math.max(1, answer.phases.executing);
  const left = answer.functions_total - answer.functions.length;
  return (
    <div className="rs-range-part" data-testid="gantt-range-functions">
      <h4>{t('range.functions')}</h4>
      <ul>
        {answer.functions.map((row) => (
          <li key={row.name}>
            <button
              type="button"
              className={shared.part}
              title={t('range.filterBy', { name: row.name })}
              disabled={row.name === ''}
              onClick={() => change((before) => withFilter(before, 'func_name', row.name))}
              data-testid="gantt-range-function"
            >
              <span className="rs-gantt-swatch" style={{ background: look.named(row.name) }} />
              <span className={shared.partName}>
                <span className="rs-ellipsis rs-name">{row.name || t('common.unknown')}</span>
                <span className={`${css.more} rs-dim rs-num`}>
                  {count(row.attempts)}× · {t('range.atATime', { mean: atATime(row.mean) })}
                  {row.blocked_ns > 0 && ` · ${t('range.blocked', { span: duration(row.blocked_ns) })}`}
                  {row.failed > 0 && (
                    <span className={shared.bad}> · {t('gantt.tipFailed', { n: count(row.failed) })}</span>
                  )}
                </span>
              </span>
              <span className={`${shared.partTime} rs-num`}>
                {duration(row.executing_ns)}
                <span className="rs-dim">{percent(row.executing_ns / all)}%</span>
              </span>
              <span className={shared.partBar} style={{ width: `${(row.executing_ns / all) * 100}%` }} />
            </button>
          </li>
        ))}
      </ul>
      {left > 0 && (
        <p className="rs-dim rs-num">
          {t('range.leftOut', { n: count(left), span: duration(answer.functions_left_out_ns) })}
        </p>
      )}
    </div>
  );
}

function Lanes({ answer, onPick }: { answer: RangeAnswer; onPick: (lane: RangeLane) => void }) {
  const { t } = useTranslation();
  const length = Math.max(1, answer.until_ns - answer.since_ns);
  const left = answer.lanes_total - answer.lanes.length;
  if (answer.lanes.length === 0) return null;
  return (
    <div className="rs-range-part" data-testid="gantt-range-lanes">
      <h4 title={t('range.busyHint')}>{t(`range.busy.${answer.by}`)}</h4>
      <ul>
        {answer.lanes.map((lane) => {
          const { text, beside } = laneLabel(t, lane);
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
                  <span className="rs-ellipsis">{text.trim()}</span>
                  <span className={`${css.more} rs-dim rs-num`}>
                    {lane.kind === 'worker' && beside !== '' && `${beside} · `}
                    {count(lane.attempts)}×
                    {lane.rows !== null && lane.rows > 1 && ` · ${t('range.rows', { n: count(lane.rows) })}`}
                  </span>
                </span>
                <span className={`${shared.partTime} rs-num`}>
                  {lane.share === null ? '–' : `${percent(lane.share)}%`}
                  <span className="rs-dim">{duration(lane.busy_ns)}</span>
                </span>
                <span className={shared.partBar} style={{ width: `${share * 100}%` }} />
              </button>
            </li>
          );
        })}
      </ul>
      {left > 0 && (
        <p className="rs-dim rs-num">
          {t('range.leftOut', { n: count(left), span: duration(answer.lanes_left_out_ns) })}
        </p>
      )}
    </div>
  );
}
