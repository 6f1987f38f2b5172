import { bytes, count, duration } from '../../base/format';
import type { Line } from './LogicalNodes';
import { edgeShape, placeLabels } from './logicalEdgeShape';
import type { Focus } from './logicalFocus';
import { EDGE_DEPTH, HEAD, type Layout, type Rect } from './logicalLayout';
import { hottest, isBox, type LogicalAnswer, type Shown, strokeOf } from './logicalModel';

/** Graphs with more edges label only their largest ones, and those of the selected or hovered node. */
const LABELLED = 60;
/**
 * Font size of labels, px. It grows as the graph is zoomed out (`--rs-unzoom`). Below a minimum zoom there
 * are no labels.
 */
const LETTERS = 11;
const MAX_GROWTH = 2.2;
const MIN_ZOOM = 0.4;

/** The areas of nodes and box titles, which labels must not cover. */
export function covered(graph: Pick<LogicalAnswer, 'nodes'>, places: Layout['places']): Rect[] {
  return graph.nodes.flatMap((node) => {
    const place = places.get(node.id);
    return place === undefined ? [] : [isBox(node) ? { ...place, height: HEAD } : place];
  });
}

export function toEdges(
  graph: LogicalAnswer,
  { places, routes }: Layout,
  shown: Shown,
  focus: Focus | null,
  zoom: number,
  name: (id: string) => string,
  /** Labels to show instead of the edges' figures, by the ID of the edge. */
  labels: ReadonlyMap<string, { tag: string; attempts: string }> | null = null,
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
    figures: string,
    details: string,
  ) => {
    const change = labels?.get(edge.id);
    const label = change?.attempts ?? figures;
    const detail = change ? `${label} · ${change.tag}` : details;
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
        type: 'logical' as const,
        selectable: false,
        zIndex: EDGE_DEPTH,
        data: {
          kind,
          shape: edgeShape(source, target, kind, edge.source === edge.target, routes.get(edge.id)),
          stroke: strokeOf(value, most),
          label,
          labelAt: undefined,
          title: `${name(edge.source)} → ${name(edge.target)}\n${detail}`,
          isHot,
          isDim: focus !== null && !isNear,
        },
        /** Labels of higher ranks are placed first. An edge without a rank has no label. */
        rank: isNear ? 2 : isHot ? 1 : few ? 0 : null,
      },
    ];
  };
  const hotCalls = hottest(calls, (edge) => edge.attempts);
  const hotData = hottest(data, (edge) => edge.bytes);
  const mostCalls = Math.max(0, ...calls.map((edge) => edge.attempts));
  const mostBytes = Math.max(0, ...data.map((edge) => edge.bytes));
  const lines = [
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
  const labelled = lines
    .filter(({ rank }) => rank !== null && zoom >= MIN_ZOOM)
    // Calls form the structure, so their labels are placed before those of data.
    .sort((a, b) => {
      const order = Number(b.data.kind === 'call') - Number(a.data.kind === 'call');
      return (b.rank ?? 0) - (a.rank ?? 0) || order || b.data.stroke - a.data.stroke;
    });
  const at = placeLabels(
    labelled.map(({ id, data: { label, shape } }) => ({ id, text: label, labels: shape.labels })),
    covered(graph, places),
    LETTERS * Math.min(MAX_GROWTH, Math.max(1, 1 / zoom)),
  );
  return lines.map(({ rank, ...edge }) => ({ ...edge, data: { ...edge.data, labelAt: at.get(edge.id) } }));
}
