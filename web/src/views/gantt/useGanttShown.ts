import { useCallback, useEffect, useMemo, useState } from 'react';
import { useCriticalPath } from '../../api/criticalPath';
import { onlyMineOf } from '../../base/url';
import { useSessionUrl } from '../../ui/useUrl';
import { relative, type Span } from '../shared/span';
import { LEVELS } from './GanttToolbar';
import { tileOf } from './gantt';
import { KINDS, type Kind, LANE_STEP, LANES, MAX_LANES, useGantt } from './ganttData';
import { useGanttWindow } from './useGanttWindow';

/** The time axis that charts of several runs share. */
export interface SharedAxis {
  /** The start of this chart's run, ns since the epoch. */
  zero: number;
  /** From the start to the end of the longest run. */
  whole: Span;
  /** The window that all of the charts show, in ns after the start of each run; null means everything. */
  window: Span | null;
  onMove: (next: Span | null, limits: Span) => void;
}

/** The content that the URL selects: the data, the critical path, and the window, unless `axis` is given. */
export function useGanttShown(axis?: SharedAxis) {
  const [url, change] = useSessionUrl();
  const by: Kind = KINDS.find((kind) => kind === url.settings?.by) ?? 'worker';
  const withPath = url.settings?.path === '1';
  const levels = by === 'path' ? LEVELS.find((one) => one === url.settings?.levels) : undefined;
  const only = onlyMineOf(url);
  const picked = JSON.stringify([url.session, url.filters, only, by, levels]);

  const [base, setBase] = useState<{ session: string; ns: number } | null>(null);
  const zero = axis?.zero ?? (base?.session === url.session ? base.ns : null);
  const [ownWindow, moveOwn] = useGanttWindow(url, change, zero);
  const window = axis === undefined ? ownWindow : axis.window;
  const move = axis?.onMove ?? moveOwn;
  const [width, setWidth] = useState(0);
  const [inSight, setInSight] = useState({ picked, first: 0, last: 0 });
  const finds = (url.settings?.find ?? '').trim() !== '';
  const lanesFrom =
    inSight.picked === picked && !finds ? Math.floor(inSight.first / LANE_STEP) * LANE_STEP : 0;
  // The search covers all lanes that one request can return.
  const needed = finds ? MAX_LANES : Math.max(LANES, inSight.last + 1 + LANE_STEP - lanesFrom);
  const lanes = Math.min(MAX_LANES, Math.ceil(needed / LANE_STEP) * LANE_STEP);
  const tile = window === null || zero === null ? null : { ...tileOf(window, width), base: zero };
  const columns = width === 0 ? 0 : width > 640 ? 2048 : 1024;
  const query = useGantt(url.session, url.filters, only, by, lanesFrom, lanes, tile, columns, levels);
  const perNode = by === 'worker' ? LANES : 0;
  const nodes = useGantt(url.session, url.filters, only, 'node', 0, perNode, tile, columns, undefined);
  // Data of lanes of another kind would be drawn in the wrong places.
  const data = query.data?.by === by ? query.data : undefined;
  useEffect(() => {
    if (data && zero === null) setBase({ session: url.session, ns: data.origin_ns });
  }, [data, zero, url.session]);
  const path = useCriticalPath(url.session, url.filters.job_id, withPath);

  const shift = data && zero !== null ? data.origin_ns - zero : 0;
  const span = data ? Math.max(1, data.end_ns - data.begin_ns) : 1;
  const whole: Span = { begin: shift, end: shift + span };
  const inData = axis?.whole ?? whole;
  // The path extends to the end of the driver, which may be long after the last attempt.
  const reach: Span =
    withPath && path.data && zero !== null
      ? {
          begin: Math.min(whole.begin, path.data.begin_ns - zero),
          end: Math.max(whole.end, path.data.end_ns - zero),
        }
      : inData;
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
  const onMove = useMemo(
    () => (next: Span | null) => move(next, { begin: limits.begin, end: limits.end }),
    [move, limits.begin, limits.end],
  );
  return {
    by,
    levels,
    /** Changes when other lanes are requested. */
    picked,
    query,
    data,
    nodes: by === 'worker' ? nodes.data : undefined,
    withPath,
    path,
    /** The time to which windows are relative, ns since the epoch. */
    zero,
    shift,
    whole,
    /** The chosen window; null means everything. */
    window,
    shown,
    setWidth,
    onMove,
    onLanes,
  };
}
