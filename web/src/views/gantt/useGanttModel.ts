import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { CriticalPath } from '../../api/criticalPath';
import { useSessionUrl } from '../../ui/useUrl';
import { laneTops } from './gantt';
import type { Gantt, GanttLane } from './ganttData';
import { type Index, indexed, keyOf, useArrows, useKnownLanes, useLabels, useSelected } from './ganttLanes';
import { type Arrow, AXIS, PATH_ROW, type Scene } from './ganttScene';

/** What the chart shows, wherever it is scrolled and zoomed to. */
export interface GanttModel {
  data: Gantt | undefined;
  index: Index | null;
  lanes: ReadonlyMap<number, GanttLane>;
  labels: Map<number, { text: string; beside: string }>;
  /** Where each lane begins below `top`, and where the last one ends, px. */
  tops: number[];
  /** The height of what stands above the lanes, px. */
  top: number;
  /** The selected bar, or -1. */
  selected: number;
  arrows: Arrow[];
  path: Scene['path'];
}

export function useGanttModel(
  data: Gantt | undefined,
  path: CriticalPath | undefined,
  pathShift: number,
): GanttModel {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const lanes = useKnownLanes(data);
  const total = data?.lanes_total ?? 0;
  const tops = useMemo(() => laneTops(total, (lane) => lanes.get(lane)?.rows ?? 1), [total, lanes]);
  const labels = useLabels(lanes);
  const index = useMemo(() => (data ? indexed(data) : null), [data]);
  const selected = useSelected(index, url.task, url.attempt);
  const arrows = useArrows(url.session, url.task, selected, index, data?.origin_ns ?? 0);
  const onPath = useMemo(() => {
    if (!path || !index) return null;
    const bars = new Set<number>();
    for (const link of path.links) {
      const bar = index.byAttempt.get(keyOf(link.task_id, link.attempt));
      if (bar !== undefined) bars.add(bar);
    }
    return { links: path.links, shift: pathShift, bars, label: t('gantt.path') };
  }, [path, index, pathShift, t]);
  const top = path ? AXIS + PATH_ROW : AXIS;
  return useMemo(
    () => ({ data, index, lanes, labels, tops, top, selected, arrows, path: onPath }),
    [data, index, lanes, labels, tops, top, selected, arrows, onPath],
  );
}
