/** The shape of the logical graph's edges. */

import type { Point, Rect } from './logicalLayout';

export interface EdgeShape {
  path: string;
  arrow: string;
  /** Possible positions of the label, best first. */
  labels: readonly Point[];
}

/**
 * An edge with its arrowhead along the route that the layout found. Without a route it is a curve between the
 * nodes: calls run above the middle of the nodes, data below it.
 */
export function edgeShape(
  a: Rect,
  b: Rect,
  kind: 'call' | 'data',
  isSelf: boolean,
  route?: readonly Point[],
): EdgeShape {
  if (route !== undefined) return along(route);
  const share = kind === 'call' ? 0.36 : 0.7;
  const fromY = a.y + a.height * share;
  const toY = b.y + b.height * share;
  if (isSelf) {
    // The label of a call is above the node at the right, and that of data below it at the left, so that
    // labels of neighbouring edges do not overlap.
    const way = kind === 'call' ? -1 : 1;
    const y = kind === 'call' ? a.y : a.y + a.height;
    const from = kind === 'call' ? a.x + a.width - 46 : a.x + 46;
    const to = from - 30 * way;
    return {
      path: `M ${from} ${y} C ${from} ${y + 26 * way}, ${to} ${y + 26 * way}, ${to} ${y + 6 * way}`,
      arrow: `M ${to} ${y} L ${to - 4.5} ${y + 8 * way} L ${to + 4.5} ${y + 8 * way} Z`,
      labels: [22, -52].map((aside) => ({ x: from + aside * way, y: y + 12 * way })),
    };
  }
  const forward = b.x >= a.x + a.width - 1;
  const backward = !forward && b.x + b.width <= a.x + 1;
  if (!forward && !backward) {
    const from = a.x + a.width;
    const to = b.x + b.width;
    const out = Math.max(from, to) + 52;
    return {
      path: `M ${from} ${fromY} C ${out} ${fromY}, ${out} ${toY}, ${to + 6} ${toY}`,
      arrow: head(to, toY, -1),
      labels: [{ x: (from + to) / 8 + (out * 3) / 4, y: (fromY + toY) / 2 }],
    };
  }
  const way = forward ? 1 : -1;
  const from = forward ? a.x + a.width : a.x;
  const to = forward ? b.x : b.x + b.width;
  const bend = Math.max(30, Math.abs(to - from) / 2) * way;
  const end = to - 6 * way;
  // A long curve passes behind nodes, so the best place for its label is the gap before the last node.
  const middle = (from + to) / 2;
  const places = Math.abs(to - from) > 140 ? [to - 48 * way, middle, from + 48 * way] : [middle];
  return {
    path: `M ${from} ${fromY} C ${from + bend} ${fromY}, ${end - bend} ${toY}, ${end} ${toY}`,
    arrow: head(to, toY, way),
    labels: places.map((x) => onCurve([from, fromY], [from + bend, fromY], [end - bend, toY], [end, toY], x)),
  };
}

/** Radius of a rounded corner, px. */
const CORNER = 10;
/** Distance of a label's centre from the end of its edge, px. */
const BEFORE_END = 54;

/** A line with rounded corners. Its label is in the gap before the last node. */
function along(route: readonly Point[]): EdgeShape {
  // At the borders of boxes, the layout adds points at which the line does not turn.
  const turns = route.filter((point, at) => {
    const [before, after] = [route[at - 1], route[at + 1]];
    return !before || !after || Math.abs(before.y - point.y) > 1 || Math.abs(point.y - after.y) > 1;
  });
  const start = turns[0] as Point;
  const end = turns.at(-1) as Point;
  const last = turns.at(-2) as Point;
  const way = Math.sign(end.x - last.x) || 1;
  const points = [...turns.slice(0, -1), { x: end.x - 6 * way, y: end.y }];
  let path = `M ${start.x} ${start.y}`;
  points.slice(1, -1).forEach((corner, at) => {
    const [before, after] = [points[at] as Point, points[at + 2] as Point];
    const round = Math.min(CORNER, distance(before, corner) / 2, distance(corner, after) / 2);
    const [from, to] = [moveTowards(corner, before, round), moveTowards(corner, after, round)];
    path += ` L ${from.x} ${from.y} Q ${corner.x} ${corner.y}, ${to.x} ${to.y}`;
  });
  const stop = points.at(-1) as Point;
  return {
    path: `${path} L ${stop.x} ${stop.y}`,
    arrow: head(end.x, end.y, way),
    labels: labelsOn(turns),
  };
}

/**
 * Label positions, best first: near the end of the line, then in the middle of its segments (longest first),
 * then elsewhere along them.
 */
function labelsOn(turns: readonly Point[]): Point[] {
  const parts = turns.slice(1).map((to, at) => ({ from: turns[at] as Point, to }));
  const last = parts.at(-1) as { from: Point; to: Point };
  const ordered = [...parts].sort((a, b) => distance(b.from, b.to) - distance(a.from, a.to));
  const inside = [0.5, 0.25, 0.75].flatMap((share) =>
    ordered.map(({ from, to }) => moveTowards(from, to, share * distance(from, to))),
  );
  // Edges that share a trunk differ only near their ends.
  const own = [BEFORE_END, BEFORE_END - 16, BEFORE_END + 24, BEFORE_END + 48]
    .filter((before) => distance(last.from, last.to) >= before + CORNER)
    .map((before) => moveTowards(last.to, last.from, before));
  return [...own, ...inside];
}

const distance = (a: Point, b: Point) => Math.hypot(a.x - b.x, a.y - b.y);

function moveTowards(from: Point, to: Point, by: number): Point {
  const share = by / (distance(from, to) || 1);
  return { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share };
}

type Pair = [x: number, y: number];

/** The point at which a monotonic Bézier curve passes an x coordinate. */
function onCurve(a: Pair, b: Pair, c: Pair, d: Pair, x: number): Point {
  const at = (share: number, axis: 0 | 1) => {
    const rest = 1 - share;
    return (
      rest ** 3 * a[axis] +
      3 * rest ** 2 * share * b[axis] +
      3 * rest * share ** 2 * c[axis] +
      share ** 3 * d[axis]
    );
  };
  const way = Math.sign(d[0] - a[0]);
  let low = 0;
  let high = 1;
  for (let turn = 0; turn < 24; turn += 1) {
    const middle = (low + high) / 2;
    if ((at(middle, 0) - x) * way < 0) low = middle;
    else high = middle;
  }
  return { x: at(low, 0), y: at(low, 1) };
}

const head = (x: number, y: number, way: number) =>
  `M ${x} ${y} L ${x - 8 * way} ${y - 4.5} L ${x - 8 * way} ${y + 4.5} Z`;

/** A label to place: its text and possible positions. */
interface Label {
  id: string;
  text: string;
  labels: readonly Point[];
}

/** Estimated width of a letter, in font sizes. */
const LETTER_WIDTH = 0.62;
/** Height of a line, in font sizes. */
const LINE_HEIGHT = 1.5;
/** Horizontal padding of a label, in font sizes. */
const PADDING = 0.8;

/**
 * Places labels where they overlap nothing, and leaves out those for which there is no room. Earlier labels
 * have priority. `size` is the font size in the graph's px.
 */
export function placeLabels(labels: Label[], taken: readonly Rect[], size: number): Map<string, Point> {
  const found = new Map<string, Point>();
  const rects = [...taken];
  for (const { id, text, labels: places } of labels) {
    const width = ([...text].length * LETTER_WIDTH + PADDING) * size;
    const height = LINE_HEIGHT * size;
    const rect = ({ x, y }: Point) => ({ x: x - width / 2, y: y - height / 2, width, height });
    const at = places.find((place) => rects.every((other) => isDisjoint(rect(place), other)));
    if (at === undefined) continue;
    found.set(id, at);
    rects.push(rect(at));
  }
  return found;
}

const isDisjoint = (a: Rect, b: Rect) =>
  a.x >= b.x + b.width || b.x >= a.x + a.width || a.y >= b.y + b.height || b.y >= a.y + a.height;
