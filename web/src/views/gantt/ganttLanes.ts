/**
 * State of the chart's lanes: the lanes known so far, their labels and bars, and what is related to the
 * selected bar.
 */

import type { TFunction } from 'i18next';
import { useCallback, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useTask } from '../../api/queries';
import type { FindingItem, GanttAnswer, GanttLane, PausedTask, RangeLane } from '../../api/schema';
import { count, shortId } from '../../base/format';
import { workerName } from '../../base/workerName';
import { severityTone } from '../../ui/alerts/severity';
import type { Findings } from '../../ui/insights/useFindings';
import { rowIndex } from './gantt';
import type { Arrow, Scene } from './ganttScene';

const MAX_ARROWS = 60;

export const keyOf = (task: string, attempt: number) => `${task}:${attempt}`;

/**
 * All lanes received so far. Each has the greatest height that it has had, so that the lanes below do not
 * move back and forth.
 */
export function useKnownLanes(data: GanttAnswer | undefined): ReadonlyMap<number, GanttLane> {
  const [known, setKnown] = useState<{ of: GanttAnswer | undefined; lanes: Map<number, GanttLane> }>({
    of: undefined,
    lanes: new Map(),
  });
  if (data === undefined || known.of === data) return known.lanes;
  const lanes = new Map(known.lanes);
  data.lanes.forEach((lane, at) => {
    const before = lanes.get(data.lanes_from + at);
    const rows =
      before?.id === lane.id && before.kind === lane.kind ? Math.max(before.rows, lane.rows) : lane.rows;
    lanes.set(data.lanes_from + at, { ...lane, rows });
  });
  setKnown({ of: data, lanes });
  return lanes;
}

/** The labels of a row. */
export function useRowLabels(
  lanes: ReadonlyMap<number, GanttLane>,
  profile: Scene['profile'],
  nodeProfile: Scene['nodeProfile'],
  findingOf: (lane: GanttLane) => FindingItem | undefined,
): Scene['labels'] {
  const { t } = useTranslation();
  return useCallback(
    (row) => {
      const lane = lanes.get(row.lane);
      if (lane === undefined) return undefined;
      const peak = (most: number | undefined) =>
        most === undefined || most <= 0 ? '' : t('gantt.peak', { n: parallelismText(most) });
      if (row.kind === 'quiet') return { text: t('gantt.quiet', { n: count(row.lanes) }), detail: '' };
      if (row.kind === 'node')
        return {
          text: nodeText(lane) || t('common.unknown'),
          detail: [t('gantt.workers', { n: count(row.lanes) }), peak(nodeProfile(row.lane)?.most)]
            .filter((part) => part !== '')
            .join(' · '),
        };
      // A worker's node is named in the heading above, so its label leaves it out.
      const finding = findingOf(lane);
      const label = {
        ...laneLabel(
          t,
          lane.kind === 'worker' ? { ...lane, label: null, node_ip: null, node_id: null } : lane,
        ),
        ...(finding && { tone: severityTone(finding.severity) }),
      };
      return row.folded
        ? { ...label, detail: [peak(profile(row.lane).most), label.detail].filter(Boolean).join(' · ') }
        : label;
    },
    [lanes, profile, nodeProfile, findingOf, t],
  );
}

/** The finding about the function or class of a lane. */
export function findingOfLane(findings: Findings, lane: GanttLane): FindingItem | undefined {
  if (lane.kind === 'function') return findings.of(lane.id);
  if (lane.kind === 'path') return findings.of(lane.label);
  return lane.kind === 'actor' || lane.kind === 'worker'
    ? findings.of(lane.class_name, lane.actor_id)
    : undefined;
}

/** Formats a number of attempts that ran at once. It is an average where short attempts are merged. */
export const parallelismText = (n: number) =>
  n < 10 && !Number.isInteger(n) ? n.toFixed(1) : count(Math.round(n));

const nodeText = (lane: Pick<GanttLane, 'label' | 'node_ip' | 'node_id'>) =>
  lane.label ?? lane.node_ip ?? (lane.node_id ? shortId(lane.node_id) : '');

/** The labels of a lane. */
export function laneLabel(t: TFunction, lane: GanttLane | RangeLane): { text: string; detail: string } {
  const node = nodeText(lane);
  const n = count(lane.attempts);
  const actor = lane.actor_name ?? lane.class_name;
  const pid = lane.pid === null ? shortId(lane.id) : t('gantt.pid', { pid: lane.pid });
  if (lane.kind === 'not_placed') return { text: t('gantt.notPlaced'), detail: n };
  if (lane.kind === 'function') return { text: lane.id || '–', detail: n };
  if (lane.kind === 'path')
    return lane.id === ''
      ? { text: t('flame.unknown'), detail: n }
      : { text: `${'\u2003'.repeat((lane.depth ?? 1) - 1)}${lane.label ?? ''}`, detail: n };
  if (lane.kind === 'node') return { text: node || t('common.unknown'), detail: n };
  if (lane.kind === 'actor')
    return lane.id === ''
      ? { text: t('gantt.noActor'), detail: n }
      : {
          text: actor ?? shortId(lane.id),
          detail: [
            'waiting' in lane && lane.waiting > 0 && t('gantt.waiting', { n: count(lane.waiting) }),
            actor ? shortId(lane.id) : n,
          ]
            .filter(Boolean)
            .join(' · '),
        };
  if (lane.id === '') return { text: t('common.unknown'), detail: n };
  // The functions of a worker follow its name, because several workers run the same ones.
  const [text, ...detail] = [...(actor ? [actor, pid] : [pid, workerName(lane)]), node].filter(Boolean);
  return { text: text ?? '', detail: detail.join(' · ') };
}

export interface Index {
  rows: Map<string, number[]>;
  /** The bars of each lane of the answer. */
  byLane: Map<number, number[]>;
  byAttempt: Map<string, number>;
  byTask: Map<string, number>;
  detail: Map<number, number>;
  blocked: Map<number, number[]>;
}

export function indexed(data: GanttAnswer): Index {
  const { bars } = data;
  const byAttempt = new Map<string, number>();
  const byTask = new Map<string, number>();
  bars.task_id.forEach((task, bar) => {
    byAttempt.set(keyOf(task, bars.attempt[bar] as number), bar);
    byTask.set(task, bar);
  });
  const blocked = new Map<number, number[]>();
  data.blocked.bar.forEach((bar, at) => {
    blocked.set(bar, [...(blocked.get(bar) ?? []), at]);
  });
  const detail = new Map(data.details.bar.map((bar, at) => [bar, at]));
  const byLane = new Map<number, number[]>();
  bars.lane.forEach((lane, bar) => {
    const own = byLane.get(lane);
    if (own) own.push(bar);
    else byLane.set(lane, [bar]);
  });
  return { rows: rowIndex(bars), byLane, byAttempt, byTask, detail, blocked };
}

/** The bars of attempts that wait for a debugger. */
export function pausedBars(index: Index | null, tasks: readonly PausedTask[]): ReadonlySet<number> {
  const bars = tasks.map((task) => index?.byAttempt.get(keyOf(task.task_id ?? '', task.attempt ?? 0)));
  return new Set(bars.filter((bar) => bar !== undefined));
}

export function useSelected(
  index: Index | null,
  task: string | undefined,
  attempt: number | undefined,
): number {
  if (index === null || task === undefined) return -1;
  const exact = attempt === undefined ? undefined : index.byAttempt.get(keyOf(task, attempt));
  return exact ?? index.byTask.get(task) ?? -1;
}

/**
 * Arrows to the selected task from the one that submitted it and from those whose values it used, and from it
 * to the tasks that it submitted.
 */
export function useArrows(
  session: string,
  taskId: string | undefined,
  selected: number,
  index: Index | null,
  origin: number,
): Arrow[] {
  const task = useTask(session, taskId).data;
  return useMemo(() => {
    if (task === undefined || task.task_id !== taskId || selected < 0 || index === null) return [];
    const arrows: Arrow[] = [];
    const add = (from: number | undefined, to: number | undefined, kind: Arrow['kind'], at?: number) => {
      if (from !== undefined && to !== undefined && from !== to && arrows.length < MAX_ARROWS)
        arrows.push({ from, to, kind, ...(at !== undefined && { at }) });
    };
    if (task.parent) add(index.byTask.get(task.parent.task_id), selected, 'parent');
    for (const edge of task.data_in)
      if ((edge.kind === 'argument' || edge.kind === 'get') && edge.producer_task_id)
        add(
          index.byTask.get(edge.producer_task_id),
          selected,
          'data',
          edge.kind === 'get' && edge.end_ns !== null ? Number(edge.end_ns) - origin : undefined,
        );
    for (const child of task.children) add(selected, index.byTask.get(child.task_id), 'parent');
    return arrows;
  }, [task, taskId, selected, index, origin]);
}
