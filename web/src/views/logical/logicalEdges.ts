import { bytes, count, duration } from '../../base/format';
import type { Line } from './LogicalNodes';
import type { Focus } from './logicalFocus';
import { EDGE_DEPTH, type Layout } from './logicalLayout';
import { hottest, type LogicalAnswer, type Shown, strokeOf } from './logicalModel';

/** More edges than this have labels only where they belong to the selected node, or under the pointer. */
const LABELLED = 6;

export function toEdges(
  graph: LogicalAnswer,
  { places, routes }: Layout,
  shown: Shown,
  focus: Focus | null,
  name: (id: string) => string,
): Line[] {
  const calls = shown.calls ? graph.calls : [];
  const data = shown.data ? graph.data : [];
  const few = calls.length + data.length <= LABELLED;
  const line = (
    edge: { id: string; source: string; target: string },
    kind: 'call' | 'data',
    value: number,
    most: number,
    hot: Set<string>,
    label: string,
    detail: string,
  ): Line[] => {
    const source = places.get(edge.source);
    const target = places.get(edge.target);
    if (source === undefined || target === undefined) return [];
    const isNear = focus !== null && (focus.ends.has(edge.source) || focus.ends.has(edge.target));
    const isHot = hot.has(edge.id);
    return [
      {
        id: edge.id,
        source: edge.source,
        target: edge.target,
        type: 'logical',
        selectable: false,
        zIndex: EDGE_DEPTH,
        data: {
          kind,
          source,
          target,
          isSelf: edge.source === edge.target,
          stroke: strokeOf(value, most),
          route: routes.get(edge.id),
          label,
          isLabelled: few || isHot || isNear,
          title: `${name(edge.source)} → ${name(edge.target)}\n${detail}`,
          isHot,
          isDim: focus !== null && !isNear,
        },
      },
    ];
  };
  const hotCalls = hottest(calls, (edge) => edge.attempts);
  const hotData = hottest(data, (edge) => edge.bytes);
  const mostCalls = Math.max(0, ...calls.map((edge) => edge.attempts));
  const mostBytes = Math.max(0, ...data.map((edge) => edge.bytes));
  return [
    ...calls.flatMap((edge) => {
      const label = `${count(edge.attempts)}×`;
      const latency = `p50 ${duration(edge.total_p50_ns)}, p95 ${duration(edge.total_p95_ns)}`;
      return line(edge, 'call', edge.attempts, mostCalls, hotCalls, label, `${label} · ${latency}`);
    }),
    ...data.flatMap((edge) => {
      const label = bytes(edge.bytes);
      const detail = `${count(edge.objects)}× · ${label}`;
      return line(edge, 'data', edge.bytes, mostBytes, hotData, label, detail);
    }),
  ];
}
