import { IconChartBar } from '@tabler/icons-react';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/client';
import { useCriticalPath } from '../../api/criticalPath';
import type { Summary } from '../../api/types';
import { type FilterName, withFilter, withSettings } from '../../base/url';
import { EmptyState } from '../../ui/EmptyState';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { FilterBar } from '../../ui/FilterBar';
import { isDriver } from '../../ui/taskColumns';
import layout from '../../ui/theme/layout.module.css';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { formatRange, parseRange, rangeOf, spanOf } from '../shared/range';
import { SaveMenu } from '../shared/SaveMenu';
import { relative, type Span } from '../shared/span';
import { GanttChart } from './GanttChart';
import { GanttMinimap } from './GanttMinimap';
import { GanttNote } from './GanttNote';
import { GanttPath } from './GanttPath';
import { GanttRange } from './GanttRange';
import { GanttToolbar, LEVELS } from './GanttToolbar';
import css from './GanttView.module.css';
import { tileOf } from './gantt';
import shared from './gantt.module.css';
import { type GanttLane, KINDS, type Kind, LANE_STEP, LANES, MAX_LANES, useGantt } from './ganttData';
import { useGanttFind } from './useGanttFind';
import { useGanttWindow } from './useGanttWindow';
import { useRange } from './useRange';

/** What a lane alone is to the filters. */
const LANE_FILTERS: Partial<Record<GanttLane['kind'], FilterName>> = {
  worker: 'worker_id',
  node: 'node_id',
  actor: 'actor_id',
  function: 'func_name',
  path: 'func_name',
};

/** Who ran what when, and the chain that decided how long it took. */
export function GanttView({ summary }: { summary: Summary | undefined }) {
  const [url, change] = useSessionUrl();
  const { t } = useTranslation();
  const by: Kind = KINDS.find((kind) => kind === url.settings?.by) ?? 'worker';
  const withPath = url.settings?.path === '1';
  const levels = by === 'path' ? LEVELS.find((one) => one === url.settings?.levels) : undefined;
  const picked = JSON.stringify([url.session, url.filters, by, levels]);

  const [base, setBase] = useState<{ session: string; ns: number } | null>(null);
  const zero = base?.session === url.session ? base.ns : null;
  const [window, move] = useGanttWindow(url, change, zero);
  const [width, setWidth] = useState(0);
  const [inSight, setInSight] = useState({ picked, first: 0, last: 0 });
  const finds = (url.settings?.find ?? '').trim() !== '';
  const lanesFrom =
    inSight.picked === picked && !finds ? Math.floor(inSight.first / LANE_STEP) * LANE_STEP : 0;
  // The search is over all lanes that can come at once.
  const needed = finds ? MAX_LANES : Math.max(LANES, inSight.last + 1 + LANE_STEP - lanesFrom);
  const lanes = Math.min(MAX_LANES, Math.ceil(needed / LANE_STEP) * LANE_STEP);
  const tile = window === null || zero === null ? null : { ...tileOf(window, width), base: zero };
  const columns = width === 0 ? 0 : width > 640 ? 2048 : 1024;
  const query = useGantt(url.session, url.filters, by, lanesFrom, lanes, tile, columns, levels);
  const perNode = by === 'worker' ? LANES : 0;
  const nodes = useGantt(url.session, url.filters, 'node', 0, perNode, tile, columns, undefined);
  // A picture of other lanes would be drawn at the wrong places.
  const data = query.data?.by === by ? query.data : undefined;
  useEffect(() => {
    if (data && zero === null) setBase({ session: url.session, ns: data.origin_ns });
  }, [data, zero, url.session]);
  const path = useCriticalPath(url.session, url.filters.job_id, withPath);

  const shift = data && zero !== null ? data.origin_ns - zero : 0;
  const span = data ? Math.max(1, data.end_ns - data.begin_ns) : 1;
  const whole: Span = { begin: shift, end: shift + span };
  // The path goes on to the end of the driver, which may be long after the last attempt.
  const reach: Span =
    withPath && path.data && zero !== null
      ? {
          begin: Math.min(whole.begin, path.data.begin_ns - zero),
          end: Math.max(whole.end, path.data.end_ns - zero),
        }
      : whole;
  const room = (reach.end - reach.begin) * 0.01;
  const limits: Span = { begin: reach.begin - room, end: reach.end + room };
  const shown = window ?? {
    begin: (zero !== null && relative(zero, url.filters.since_ns)) || limits.begin,
    end: (zero !== null && relative(zero, url.filters.until_ns)) || limits.end,
  };
  const onLanes = useCallback(
    (first: number, last: number) =>
      setInSight((before) =>
        before.picked === picked && before.first === first && before.last === last
          ? before
          : { picked, first, last },
      ),
    [picked],
  );
  const chart = useRef<HTMLCanvasElement>(null);

  const onMove = useMemo(
    () => (next: Span | null) => move(next, { begin: limits.begin, end: limits.end }),
    [move, limits.begin, limits.end],
  );
  const range = parseRange(url.settings?.range);
  const statistics = useRange(url.session, url.filters, by, levels, range);
  const rangeSpan = spanOf(zero, range);
  const onRange = (next: Span | null) => {
    const chosen = next === null || zero === null ? null : rangeOf(zero, next.begin, next.end);
    change((before) => withSettings(before, { range: chosen === null ? undefined : formatRange(chosen) }));
  };
  const find = useGanttFind(data, url.settings?.find ?? '');
  const onLanePick = (lane: Pick<GanttLane, 'kind' | 'id' | 'label'>) => {
    const filter = LANE_FILTERS[lane.kind];
    const value = lane.kind === 'path' ? lane.label : lane.id;
    if (filter) change((before) => withFilter(before, filter, value || undefined));
  };
  const showPart = (name: string, phase: string, ofDriver: boolean) => {
    const links =
      path.data?.links.filter(
        (link) => link.name === name && link.phase === phase && isDriver(link.task_id) === ofDriver,
      ) ?? [];
    const longest = links.reduce(
      (best, link) => (best && best.end_ns - best.begin_ns >= link.end_ns - link.begin_ns ? best : link),
      links[0],
    );
    if (!longest || zero === null) return;
    const length = longest.end_ns - longest.begin_ns;
    onMove({ begin: longest.begin_ns - zero - length / 2, end: longest.end_ns - zero + length / 2 });
    if (longest.task_id && !ofDriver)
      change((before) => ({ ...before, task: longest.task_id, attempt: longest.attempt }));
  };

  return (
    <div className={layout.view} data-testid="gantt">
      <FilterBar
        summary={summary}
        right={
          <GanttToolbar
            by={by}
            levels={levels}
            find={find}
            canFit={window !== null}
            onFit={() => onMove(null)}
          >
            <SaveMenu
              view="gantt"
              disabled={!data}
              picture={chart}
              data={{ gantt: data, critical_path: path.data }}
            />
          </GanttToolbar>
        }
      />
      {data ? (
        <GanttMinimap utilisation={data.utilisation} whole={whole} window={shown} onWindow={onMove} />
      ) : (
        <div className={shared.map} />
      )}
      <div className={css.gantt}>
        <div className={layout.viewMain}>
          {query.error !== null && data === undefined ? (
            <ErrorPanel
              error={query.error}
              onRetry={
                query.error instanceof ApiError && query.error.status === 400
                  ? undefined
                  : () => void query.refetch()
              }
            />
          ) : data?.attempts === 0 ? (
            <EmptyState icon={<IconChartBar size={26} />} title={t('gantt.empty')}>
              {Object.keys(url.filters).length > 0 ? t('gantt.emptyFiltered') : t('table.emptyLive')}
            </EmptyState>
          ) : (
            <GanttChart
              key={picked}
              data={data}
              nodes={by === 'worker' ? nodes.data : undefined}
              shift={shift}
              window={shown}
              path={withPath && zero !== null ? path.data : undefined}
              pathShift={-(zero ?? 0)}
              canvas={chart}
              onWidth={setWidth}
              onMove={onMove}
              onLanes={onLanes}
              onLanePick={onLanePick}
              range={rangeSpan}
              kept={spanOf(zero, parseRange(url.settings?.vs))}
              find={find}
              onRange={onRange}
            />
          )}
          <p className={`${css.note} ${words.dim}`} data-testid="gantt-note">
            {data && data.attempts > 0 ? (
              <GanttNote data={data} window={shown} />
            ) : (
              (data === undefined && query.isFetching && t('gantt.reading')) || '\u00a0'
            )}
          </p>
        </div>
        {(withPath || range !== null) && (
          <div className={shared.side}>
            {range !== null && (
              <GanttRange
                range={range}
                answer={statistics.data}
                outdated={statistics.isPlaceholderData}
                error={statistics.error}
                onZoom={() => {
                  if (rangeSpan === null) return;
                  const room = (rangeSpan.end - rangeSpan.begin) * 0.05;
                  onMove({ begin: rangeSpan.begin - room, end: rangeSpan.end + room });
                }}
                onLanePick={onLanePick}
              />
            )}
            {withPath && <GanttPath path={path.data} error={path.error} onShow={showPart} />}
          </div>
        )}
      </div>
    </div>
  );
}
