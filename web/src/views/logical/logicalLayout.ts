/** Layout of the logical graph by elkjs, in a worker that is loaded on first use. */

import type { ELK, ElkNode } from 'elkjs/lib/elk-api.js';
import { isBox, type LogicalAnswer, type LogicalNode } from './logicalModel';

export interface Rect {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Positions in the graph's coordinates, for boxes and their content alike. */
export type Places = ReadonlyMap<string, Rect>;

export interface Point {
  x: number;
  y: number;
}

/** Routes of edges around nodes and box titles, by edge id, from source to target. */
export type Routes = ReadonlyMap<string, readonly Point[]>;

export interface Layout {
  places: Places;
  routes: Routes;
}

export const LEAF = { width: 196, height: 64 };
/** Height of a box's title, px. */
export const HEAD = 46;
const PAD = 12;
const GAP = 24;
/** Gap between layers, with space for lines and labels, px. */
const LAYER_GAP = 124;
/** Additional vertical space in a box for the lines and labels of self-calls, px. */
const LOOP_SPACE = 20;

let elk: Promise<ELK> | undefined;

/** The worker's address. In a report, which is a single file, the worker is a text. */
async function workerAddress(): Promise<string> {
  if (import.meta.env.MODE !== 'report') return (await import('elkjs/lib/elk-worker.min.js?url')).default;
  const { default: text } = await import('elkjs/lib/elk-worker.min.js?raw');
  return URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
}

function engine(): Promise<ELK> {
  elk ??= Promise.all([import('elkjs/lib/elk-api.js'), workerAddress()]).then(
    ([{ default: Elk }, workerUrl]) => new Elk({ workerUrl, workerFactory: () => new Worker(workerUrl) }),
  );
  elk.catch(() => {
    elk = undefined; // retry loading next time
  });
  return elk;
}

const LAYERED = {
  'elk.algorithm': 'layered',
  'elk.direction': 'RIGHT',
  'elk.hierarchyHandling': 'INCLUDE_CHILDREN',
  'elk.layered.spacing.nodeNodeBetweenLayers': String(LAYER_GAP),
  'elk.spacing.nodeNode': String(GAP),
  'elk.spacing.componentComponent': '40',
  'elk.layered.considerModelOrder.strategy': 'NODES_AND_EDGES',
  'elk.layered.nodePlacement.strategy': 'NETWORK_SIMPLEX',
  'elk.json.edgeCoords': 'ROOT',
};
const boxOptions = (loop: number) => ({
  'elk.padding': `[top=${HEAD + 6 + loop},left=${PAD},bottom=${PAD + loop},right=${PAD}]`,
  'elk.layered.spacing.nodeNodeBetweenLayers': String(LAYER_GAP),
  'elk.spacing.nodeNode': String(GAP),
});

/**
 * Converts the graph to ELK's format. Calls determine the order of layers, and data edges do so only between
 * nodes without calls. Edges of one kind share a port at each side of a node, so that a caller's edges look
 * like one branching line.
 */
export function toElk(graph: Pick<LogicalAnswer, 'nodes' | 'calls' | 'data'>, columns = 1): ElkNode {
  const split: Record<string, string> =
    columns === 1
      ? {}
      : {
          'elk.layered.layerUnzipping.strategy': 'ALTERNATING',
          'elk.layered.layerUnzipping.layerSplit': String(columns),
        };
  const known = new Map<string, ElkNode>();
  const root: ElkNode = { id: 'root', layoutOptions: { ...LAYERED, ...split }, children: [], edges: [] };
  const own = new Set(
    [...graph.calls, ...graph.data].flatMap(({ source, target }) => (source === target ? [source] : [])),
  );
  const loops = new Set(graph.nodes.flatMap(({ id, parent }) => (own.has(id) ? [parent] : [])));
  for (const node of graph.nodes) {
    const made: ElkNode = isBox(node)
      ? {
          id: node.id,
          layoutOptions: boxOptions(loops.has(node.id) ? LOOP_SPACE : 0),
          children: [],
          ports: [],
        }
      : { id: node.id, ...LEAF, layoutOptions: split, ports: [] };
    known.set(node.id, made);
    const above = node.parent === null ? root : known.get(node.parent);
    above?.children?.push(made);
  }
  const joined = new Set<string>();
  const port = (of: string, kind: string): string => {
    const id = `${kind} ${of}`;
    const ports = known.get(of)?.ports;
    if (ports?.every((one) => one.id !== id)) ports.push({ id, width: 0, height: 0 });
    return id;
  };
  const join = (kind: string, { id, source, target }: { id: string; source: string; target: string }) => {
    if (source === target || !known.has(source) || !known.has(target)) return;
    // A data edge opposite to another edge is laid out in reverse, so that it does not affect the order.
    const isBack = joined.has(`${target} ${source}`) && !joined.has(`${source} ${target}`);
    const [from, to] = isBack ? [target, source] : [source, target];
    joined.add(`${from} ${to}`);
    const name = isBack ? `${kind} back` : kind;
    root.edges?.push({ id, sources: [port(from, `${name} out`)], targets: [port(to, `${name} in`)] });
  };
  for (const edge of graph.calls) join('call', edge);
  for (const edge of graph.data) join('data', edge);
  return root;
}

/** Target aspect ratio of the layout. */
const SCREEN = 1.6;
/** Maximum number of columns per layer. */
const MAX_COLUMNS = 6;
/** Graphs with more nodes are laid out only once, without splitting their layers into columns. */
const MAX_SPREAD = 150;

/** The number of columns into which layers are split so that a tall graph fits the screen. */
export function columnsFor(width: number, height: number): number {
  let columns = 1;
  const isTall = () => (width + (columns - 1) * (LEAF.width + LAYER_GAP)) * columns < SCREEN * height;
  while (columns < MAX_COLUMNS && isTall()) columns += 1;
  return columns;
}

export async function layout(graph: Pick<LogicalAnswer, 'nodes' | 'calls' | 'data'>): Promise<Layout> {
  const elk = await engine();
  let root = await elk.layout(toElk(graph));
  const columns = columnsFor(root.width ?? 0, root.height ?? 0);
  if (columns > 1 && graph.nodes.length <= MAX_SPREAD) root = await elk.layout(toElk(graph, columns));
  const places = new Map<string, Rect>();
  const visit = (node: ElkNode, left: number, top: number) => {
    for (const child of node.children ?? []) {
      const x = left + (child.x ?? 0);
      const y = top + (child.y ?? 0);
      places.set(child.id, { x, y, width: child.width ?? LEAF.width, height: child.height ?? LEAF.height });
      visit(child, x, y);
    }
  };
  visit(root, 0, 0);
  const routes = new Map<string, readonly Point[]>();
  const sources = new Map([...graph.calls, ...graph.data].map(({ id, source }) => [id, source]));
  for (const { id, sections } of root.edges ?? []) {
    const [way] = sections ?? [];
    const from = places.get(sources.get(id) ?? '');
    if (way === undefined || sections?.length !== 1 || from === undefined) continue;
    const points = [way.startPoint, ...(way.bendPoints ?? []), way.endPoint];
    routes.set(id, isOn(from, way.startPoint) ? points : points.reverse());
  }
  return { places, routes };
}

const isOn = (rect: Rect, { x, y }: Point) =>
  x >= rect.x - 1 && x <= rect.x + rect.width + 1 && y >= rect.y - 1 && y <= rect.y + rect.height + 1;

/**
 * Applies {@link keepKnown} to a new layout. An edge keeps its route if its nodes did not move, or moved by
 * the same distance; then the route moves along. Other edges lose their route.
 */
export function keepLayout(
  before: Layout,
  fresh: Layout,
  graph: Pick<LogicalAnswer, 'nodes' | 'calls' | 'data'>,
): Layout {
  const places = keepKnown(before.places, fresh.places, graph);
  const routes = new Map<string, readonly Point[]>();
  for (const { id, source, target } of [...graph.calls, ...graph.data]) {
    for (const layout of [before, fresh]) {
      const route = layout.routes.get(id);
      const [from, to] = [shift(layout.places, places, source), shift(layout.places, places, target)];
      if (!route || !from || !to || Math.abs(from.x - to.x) + Math.abs(from.y - to.y) > 1) continue;
      routes.set(
        id,
        route.map(({ x, y }) => ({ x: x + from.x, y: y + from.y })),
      );
      break;
    }
  }
  return { places, routes };
}

/** How far a node was moved. */
function shift(before: Places, after: Places, id: string): Point | undefined {
  const [was, is] = [before.get(id), after.get(id)];
  return was && is && { x: is.x - was.x, y: is.y - was.y };
}

const overlap = (a: Rect, b: Rect) =>
  a.x < b.x + b.width + GAP / 2 &&
  b.x < a.x + a.width + GAP / 2 &&
  a.y < b.y + b.height + GAP / 2 &&
  b.y < a.y + a.height + GAP / 2;

/**
 * A new layout in which known nodes keep their places, also within their boxes. A new node keeps its distance
 * to a known neighbour, but is moved below anything that it would overlap. A box that grew pushes others
 * down.
 */
export function keepKnown(
  before: Places,
  after: Places,
  graph: Pick<LogicalAnswer, 'nodes' | 'calls' | 'data'>,
): Places {
  const parents = new Map(graph.nodes.map((node) => [node.id, node.parent]));
  const edges = [...graph.calls, ...graph.data];
  /** The position relative to the surrounding box. */
  const inside = (places: Places, id: string): Rect | undefined => {
    const rect = places.get(id);
    const parent = parents.get(id) ?? null;
    const around = parent === null ? { x: 0, y: 0 } : places.get(parent);
    return rect && around && { ...rect, x: rect.x - around.x, y: rect.y - around.y };
  };
  /** The node directly inside a box that is, or contains, an end of an edge. */
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
      // Content must stay below and right of the box's origin.
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
  // In this list, a box comes before its content.
  for (const node of graph.nodes) {
    const rect = settled.get(node.id);
    const around = node.parent === null ? { x: 0, y: 0 } : result.get(node.parent);
    if (rect && around) result.set(node.id, { ...rect, x: rect.x + around.x, y: rect.y + around.y });
  }
  return result;
}

/** The z-order of nodes: boxes are behind their content. */
export const depthOf = (node: LogicalNode) => (node.kind === 'instance' ? 1 : isBox(node) ? 0 : 4);
/** Edges are behind nodes and in front of boxes. */
export const EDGE_DEPTH = 3;
