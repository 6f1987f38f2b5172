/** Exports the logical graph as a picture in its current layout, or as numbers. */

import { bytes, count, duration } from '../../base/format';
import { stateColors, surfaceColors, toneColors } from '../../base/tokens';
import { xmlText } from '../../base/xml';
import type { Scheme } from '../../ui/canvas';
import type { Svg } from '../../ui/picture/picture';
import { orderedStates } from '../../ui/StackedBar';
import { edgeShape, placeLabels } from './logicalEdgeShape';
import { covered } from './logicalEdges';
import { depthOf, type Layout, type Point } from './logicalLayout';
import { isBox, type LogicalAnswer, type LogicalNode, type Shown, strokeOf } from './logicalModel';

const MARGIN = 24;
/** Estimated width of a bold letter, px. */
const BOLD = 7.4;

const cut = (text: string, room: number) => {
  const letters = Math.max(1, Math.floor(room / BOLD));
  const all = [...text]; // split into characters, since half a surrogate pair is not valid text
  return all.length <= letters ? text : `${all.slice(0, letters - 1).join('')}…`;
};

/** The graph as a self-contained SVG document without external styles. */
export function toSvg(
  graph: LogicalAnswer,
  { places, routes }: Layout,
  shown: Shown,
  scheme: Scheme,
  name: (node: LogicalNode) => string,
): Svg {
  const rects = [...places.values()];
  const left = Math.min(0, ...rects.map((rect) => rect.x)) - MARGIN;
  const top = Math.min(0, ...rects.map((rect) => rect.y)) - MARGIN;
  // Curves may extend beyond the nodes at the right.
  const width = Math.ceil(Math.max(0, ...rects.map((rect) => rect.x + rect.width)) + MARGIN + 60 - left);
  const height = Math.ceil(Math.max(0, ...rects.map((rect) => rect.y + rect.height)) + MARGIN - top);
  const surface = (key: keyof typeof surfaceColors) => surfaceColors[key][scheme];
  const ink = scheme === 'light' ? '#1d2733' : '#d5dae1';
  const parts: string[] = [];
  const text = (x: number, y: number, content: string, more = '') =>
    `<text x="${x}" y="${y}" fill="${ink}" ${more}>${xmlText(content)}</text>`;

  for (const node of [...graph.nodes].sort((a, b) => depthOf(a) - depthOf(b))) {
    const rect = places.get(node.id);
    if (rect === undefined) continue;
    const { x, y } = rect;
    parts.push(
      `<rect x="${x}" y="${y}" width="${rect.width}" height="${rect.height}" rx="6" ` +
        `fill="${surface(isBox(node) ? 'hover' : 'panel')}" stroke="${surface('line')}"/>`,
      text(x + 10, y + 20, cut(name(node), rect.width - 20), 'font-weight="600"'),
    );
    if (isBox(node) || node.attempts === 0) continue;
    parts.push(
      text(x + 10, y + 38, `${count(node.attempts)}×`),
      text(x + rect.width - 10, y + 38, duration(node.duration_ns), 'text-anchor="end"'),
    );
    let at = x + 10;
    for (const [state, n] of orderedStates(node.states)) {
      const wide = ((rect.width - 20) * n) / node.attempts;
      const fill = stateColors[state]?.[scheme] ?? toneColors.quiet[scheme];
      parts.push(`<rect x="${at}" y="${y + 45}" width="${wide}" height="5" fill="${fill}"/>`);
      at += wide;
    }
  }
  const labels: { id: string; text: string; labels: readonly Point[]; color: string }[] = [];
  const draw = (
    edge: { id: string; source: string; target: string },
    kind: 'call' | 'data',
    stroke: number,
    label: string,
  ) => {
    const source = places.get(edge.source);
    const target = places.get(edge.target);
    if (source === undefined || target === undefined) return;
    const shape = edgeShape(source, target, kind, edge.source === edge.target, routes.get(edge.id));
    const color = kind === 'call' ? surface('muted') : toneColors.waiting[scheme];
    const dash = kind === 'data' ? ' stroke-dasharray="6 4"' : '';
    parts.push(
      `<path d="${shape.path}" fill="none" stroke="${color}" stroke-width="${stroke.toFixed(2)}"${dash}/>`,
      `<path d="${shape.arrow}" fill="${color}"/>`,
    );
    labels.push({ id: edge.id, text: label, labels: shape.labels, color });
  };
  const mostCalls = Math.max(0, ...graph.calls.map((edge) => edge.attempts));
  const mostBytes = Math.max(0, ...graph.data.map((edge) => edge.bytes));
  if (shown.calls)
    for (const edge of graph.calls)
      draw(edge, 'call', strokeOf(edge.attempts, mostCalls), `${count(edge.attempts)}×`);
  if (shown.data)
    for (const edge of graph.data) draw(edge, 'data', strokeOf(edge.bytes, mostBytes), bytes(edge.bytes));
  const at = placeLabels(labels, covered(graph, places), 12);
  for (const { id, text: label, color } of labels) {
    const point = at.get(id);
    if (point === undefined) continue;
    parts.push(
      `<text x="${point.x}" y="${point.y + 4}" fill="${color}" text-anchor="middle" ` +
        `stroke="${surface('page')}" stroke-width="4" paint-order="stroke">${xmlText(label)}</text>`,
    );
  }
  const svg =
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
    `viewBox="${left} ${top} ${width} ${height}" font-family="system-ui, sans-serif" font-size="12">` +
    `<rect x="${left}" y="${top}" width="${width}" height="${height}" fill="${surface('page')}"/>` +
    `${parts.join('')}</svg>`;
  return { svg, width, height };
}
