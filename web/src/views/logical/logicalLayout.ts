/** Where the nodes of a logical graph stand: elkjs in a worker, loaded when it is first needed. */

import type { ELK, ElkNode } from 'elkjs/lib/elk-api.js';
import workerUrl from 'elkjs/lib/elk-worker.min.js?url';
import { isBox, type LogicalAnswer, type LogicalNode } from './logicalModel';

export interface Rect {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Places in the graph's coordinates, of boxes and what is in them alike. */
export type Places = ReadonlyMap<string, Rect>;

export const LEAF = { width: 196, height: 58 };
/** Room for a box's title. */
export const HEAD = 46;
const PAD = 12;
const GAP = 24;

let elk: Promise<ELK> | undefined;

function engine(): Promise<ELK> {
  elk ??= import('elkjs/lib/elk-api.js').then(
    ({ default: Elk }) => new Elk({ workerUrl, workerFactory: (url) => new Worker(url ?? workerUrl) }),
  );
  elk.catch(() => {
    elk = undefined; // the next try loads it again
  });
  return elk;
}

const LAYERED = {
  'elk.algorithm': 'layered',
  'elk.direction': 'RIGHT',
  'elk.hierarchyHandling': 'INCLUDE_CHILDREN',
  'elk.layered.spacing.nodeNodeBetweenLayers': '96',
  'elk.spacing.nodeNode': String(GAP),
  'elk.spacing.componentComponent': '40',
  'elk.layered.considerModelOrder.strategy': 'NODES_AND_EDGES',
  'elk.layered.nodePlacement.strategy': 'NETWORK_SIMPLEX',
};
const BOX = {
  'elk.padding': `[top=${HEAD + 6},left=${PAD},bottom=${PAD},right=${PAD}]`,
  'elk.layered.spacing.nodeNodeBetweenLayers': '96',
  'elk.spacing.nodeNode': String(GAP),
};

/** The graph for ELK: calls decide what is left of what; data where no call does. */
export function toElk(graph: Pick<LogicalAnswer, 'nodes' | 'calls' | 'data'>): ElkNode {
  const known = new Map<string, ElkNode>();
  const root: ElkNode = { id: 'root', layoutOptions: LAYERED, children: [], edges: [] };
  for (const node of graph.nodes) {
    const made: ElkNode = isBox(node)
      ? { id: node.id, layoutOptions: BOX, children: [] }
      : { id: node.id, ...LEAF };
    known.set(node.id, made);
    const above = node.parent === null ? root : known.get(node.parent);
    above?.children?.push(made);
  }
  const joined = new Set<string>();
  for (const edge of [...graph.calls, ...graph.data]) {
    const { id, source, target } = edge;
    if (source === target || joined.has(`${source} ${target}`) || joined.has(`${target} ${source}`)) continue;
    joined.add(`${source} ${target}`);
    root.edges?.push({ id, sources: [source], targets: [target] });
  }
  return root;
}

export async function layout(graph: Pick<LogicalAnswer, 'nodes' | 'calls' | 'data'>): Promise<Places> {
  const laid = await (await engine()).layout(toElk(graph));
  const places = new Map<string, Rect>();
  const visit = (node: ElkNode, left: number, top: number) => {
    for (const child of node.children ?? []) {
      const x = left + (child.x ?? 0);
      const y = top + (child.y ?? 0);
      places.set(child.id, { x, y, width: child.width ?? LEAF.width, height: child.height ?? LEAF.height });
      visit(child, x, y);
    }
  };
  visit(laid, 0, 0);
  return places;
}

const overlap = (a: Rect, b: Rect) =>
  a.x < b.x + b.width + GAP / 2 &&
  b.x < a.x + a.width + GAP / 2 &&
  a.y < b.y + b.height + GAP / 2 &&
  b.y < a.y + a.height + GAP / 2;

/**
 * A new layout in which what was there before stays where it was, in its box too. What is new keeps its
 * distance to a neighbour that was there, or goes below whatever stands in its way; a box that grew pushes
 * others down.
 */
export function keepKnown(
  before: Places,
  after: Places,
  graph: Pick<LogicalAnswer, 'nodes' | 'calls' | 'data'>,
): Places {
  const parents = new Map(graph.nodes.map((node) => [node.id, node.parent]));
  const edges = [...graph.calls, ...graph.data];
  /** The place inside the box around a node. */
  const inside = (places: Places, id: string): Rect | undefined => {
    const rect = places.get(id);
    const parent = parents.get(id) ?? null;
    const around = parent === null ? { x: 0, y: 0 } : places.get(parent);
    return rect && around && { ...rect, x: rect.x - around.x, y: rect.y - around.y };
  };
  /** Which node of a box an end of an edge is, or is in. */
  const within = (end: string, box: string | null): string | undefined => {
    let at: string | null = end;
    while (at !== null && parents.get(at) !== box) at = parents.get(at) ?? null;
    return at ?? undefined;
  };
  const settled = new Map<string, Rect>();
  function settle(box: string | null): Rect[] {
    const children = graph.nodes.filter((node) => node.parent === box && after.has(node.id));
    const known = new Map<string, Rect>();
    const wanted: [string, Rect][] = [];
    for (const { id } of children) {
      const old = inside(before, id);
      if (old !== undefined) known.set(id, old);
    }
    for (const node of children) {
      const rect = { ...(inside(after, node.id) as Rect) };
      const content = isBox(node) ? settle(node.id) : [];
      if (content.length > 0) {
        rect.width = Math.max(...content.map((one) => one.x + one.width)) + PAD;
        rect.height = Math.max(...content.map((one) => one.y + one.height)) + PAD;
      }
      const old = known.get(node.id);
      if (old !== undefined) {
        wanted.push([node.id, { ...rect, x: old.x, y: old.y }]);
        continue;
      }
      const near = edges
        .map(({ source, target }) => [within(source, box), within(target, box)])
        .filter((ends) => ends.includes(node.id))
        .flat()
        .find((id) => id !== undefined && known.has(id));
      const guide = near ?? [...known.keys()][0];
      const then = guide === undefined ? undefined : known.get(guide);
      const now = guide === undefined ? undefined : inside(after, guide);
      if (then && now) Object.assign(rect, { x: rect.x + then.x - now.x, y: rect.y + then.y - now.y });
      // In a box nothing is left of or above its content.
      if (box !== null) Object.assign(rect, { x: Math.max(PAD, rect.x), y: Math.max(HEAD + 6, rect.y) });
      wanted.push([node.id, rect]);
    }
    wanted.sort(
      ([a, one], [b, other]) =>
        Number(known.has(b)) - Number(known.has(a)) || one.y - other.y || one.x - other.x,
    );
    const placed: Rect[] = [];
    for (const [id, rect] of wanted) {
      let at = rect;
      for (let hit = placed.find((one) => overlap(at, one)); hit !== undefined; ) {
        at = { ...at, y: hit.y + hit.height + GAP };
        hit = placed.find((one) => overlap(at, one));
      }
      placed.push(at);
      settled.set(id, at);
    }
    return placed;
  }
  settle(null);
  const result = new Map<string, Rect>();
  // Boxes stand before what is in them.
  for (const node of graph.nodes) {
    const rect = settled.get(node.id);
    const around = node.parent === null ? { x: 0, y: 0 } : result.get(node.parent);
    if (rect && around) result.set(node.id, { ...rect, x: rect.x + around.x, y: rect.y + around.y });
  }
  return result;
}

export interface EdgeShape {
  path: string;
  arrow: string;
  label: { x: number; y: number };
}

/** A curve from one node to another with its arrow's head: calls above the middle, data below. */
export function edgeShape(a: Rect, b: Rect, kind: 'call' | 'data', isSelf: boolean): EdgeShape {
  const share = kind === 'call' ? 0.36 : 0.7;
  const fromY = a.y + a.height * share;
  const toY = b.y + b.height * share;
  if (isSelf) {
    // In the gap above (calls, at the right) or below (data, at the left), so that neighbours' do not meet.
    const way = kind === 'call' ? -1 : 1;
    const y = kind === 'call' ? a.y : a.y + a.height;
    const from = kind === 'call' ? a.x + a.width - 46 : a.x + 46;
    const to = from - 30 * way;
    return {
      path: `M ${from} ${y} C ${from} ${y + 26 * way}, ${to} ${y + 26 * way}, ${to} ${y + 6 * way}`,
      arrow: `M ${to} ${y} L ${to - 4.5} ${y + 8 * way} L ${to + 4.5} ${y + 8 * way} Z`,
      label: { x: from + 22 * way, y: y + 12 * way },
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
      label: { x: (from + to) / 8 + (out * 3) / 4, y: (fromY + toY) / 2 },
    };
  }
  const way = forward ? 1 : -1;
  const from = forward ? a.x + a.width : a.x;
  const to = forward ? b.x : b.x + b.width;
  const bend = Math.max(30, Math.abs(to - from) / 2) * way;
  const end = to - 6 * way;
  // A long curve passes behind nodes: its label stands in the gap before the last one.
  const labelAt = Math.abs(to - from) > 140 ? to - 48 * way : (from + to) / 2;
  return {
    path: `M ${from} ${fromY} C ${from + bend} ${fromY}, ${end - bend} ${toY}, ${end} ${toY}`,
    arrow: head(to, toY, way),
    label: onCurve([from, fromY], [from + bend, fromY], [end - bend, toY], [end, toY], labelAt),
  };
}

type Point = [x: number, y: number];

/** Where a Bézier curve that goes one way passes an x. */
function onCurve(a: Point, b: Point, c: Point, d: Point, x: number): { x: number; y: number } {
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

/** Who is on top of whom: boxes below what is in them. */
export const depthOf = (node: LogicalNode) => (node.kind === 'instance' ? 1 : isBox(node) ? 0 : 4);
/** Edges pass behind nodes and in front of boxes. */
export const EDGE_DEPTH = 3;
