import { useCallback, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { CriticalPathAnswer, FindingItem, GanttAnswer, GanttLane } from '../../api/schema';
import { useFindings } from '../../ui/insights/useFindings';
import { usePausedTasks } from '../../ui/PausedMark';
import { useSessionUrl } from '../../ui/useUrl';
import {
  findingOfLane,
  type Index,
  indexed,
  keyOf,
  pausedBars,
  useArrows,
  useKnownLanes,
  useRowLabels,
  useSelected,
} from './ganttLanes';
import { type Layout, layoutOf } from './ganttLayout';
import { type Profile, profileOf } from './ganttProfile';
import { type Arrow, AXIS, PATH_ROW, type Scene } from './ganttScene';
import type { GanttFolding } from './useGanttFolding';

/** The complete state of the chart, independent of scrolling and zooming. */
export interface GanttModel {
  data: GanttAnswer | undefined;
  index: Index | null;
  lanes: ReadonlyMap<number, GanttLane>;
  labels: Scene['labels'];
  /** The finding about a lane. */
  findingOf: (lane: GanttLane) => FindingItem | undefined;
  findingsJob: string;
  layout: Layout;
  /** How many attempts of a lane, or of its node, ran at once. */
  profile: Scene['profile'];
  nodeProfile: Scene['nodeProfile'];
  /** Height of the area above the lanes, px. */
  top: number;
  /** The selected bar, or -1. */
  selected: number;
  arrows: Arrow[];
  paused: Scene['paused'];
  path: Scene['path'];
}

export function useGanttModel(
  data: GanttAnswer | undefined,
  nodes: GanttAnswer | undefined,
  folding: GanttFolding,
  path: CriticalPathAnswer | undefined,
  pathShift: number,
): GanttModel {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const lanes = useKnownLanes(data);
  const total = data?.lanes_total ?? 0;
  const index = useMemo(() => (data ? indexed(data) : null), [data]);
  const selected = useSelected(index, url.task, url.attempt);
  const span = data ? data.end_ns - data.begin_ns : 0;
  const kept = selected < 0 || !data ? -1 : (data.bars.lane[selected] as number) + data.lanes_from;
  const { unfolded, pins } = folding;
  const layout = useMemo(
    () => layoutOf(total, lanes, { span, unfolded, pins, kept }),
    [total, lanes, span, unfolded, pins, kept],
  );
  const profile = useMemo(() => profilesOf(data, index), [data, index]);
  const ofNodes = useMemo(() => profilesOf(nodes, nodes ? indexed(nodes) : null), [nodes]);
  const nodeProfile = useMemo(() => {
    const laneOf = new Map(nodes?.lanes.map((lane, at) => [lane.kind === 'node' ? lane.id : null, at]));
    return (lane: number) => {
      const at = laneOf.get(lanes.get(lane)?.node_id ?? '');
      return at === undefined || !data || !nodes
        ? null
        : shifted(ofNodes(at + nodes.lanes_from), nodes.origin_ns - data.origin_ns);
    };
  }, [nodes, lanes, ofNodes, data]);
  const findings = useFindings(url.session, url.filters.job_id, data !== undefined);
  const findingOf = useCallback((lane: GanttLane) => findingOfLane(findings, lane), [findings]);
  const labels = useRowLabels(lanes, profile, nodeProfile, findingOf);
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
  const tasks = usePausedTasks();
  const paused = useMemo(() => pausedBars(index, tasks), [index, tasks]);
  const top = path ? AXIS + PATH_ROW : AXIS;
  return useMemo(
    () => ({
      data,
      index,
      lanes,
      labels,
      findingOf,
      findingsJob: findings.job,
      layout,
      profile,
      nodeProfile,
      top,
      selected,
      arrows,
      paused,
      path: onPath,
    }),
    [
      data,
      index,
      lanes,
      labels,
      findingOf,
      findings,
      layout,
      profile,
      nodeProfile,
      top,
      selected,
      arrows,
      paused,
      onPath,
    ],
  );
}

/** The profile of a lane by its number, computed on first use. */
function profilesOf(data: GanttAnswer | undefined, index: Index | null): (lane: number) => Profile {
  const made = new Map<number, Profile>();
  return (lane) => {
    let profile = made.get(lane);
    if (profile === undefined) {
      profile =
        data && index
          ? profileOf(
              data.bars,
              index.byLane.get(lane - data.lanes_from) ?? [],
              data.states.indexOf('waiting'),
            )
          : NONE;
      made.set(lane, profile);
    }
    return profile;
  };
}

const NONE: Profile = { at: [], n: [], most: 0, name: -1 };

const shifted = (profile: Profile, by: number): Profile =>
  by === 0 ? profile : { ...profile, at: profile.at.map((time) => time + by) };
