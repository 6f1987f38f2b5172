/**
 * The logic of a flame graph without drawing: the tree of an answer, the layout of its boxes, and the search.
 */

import type { FlameAnswer, FlameFrame, StackFrame } from '../../api/schema';

export const WEIGHTS = [
  'critical_path',
  'executing',
  'awaiting',
  'duration',
  'cpu',
  'count',
  'bytes',
  'memory_time',
] as const;
export type Weight = (typeof WEIGHTS)[number];
export const ORDERS = ['size', 'time'] as const;
export type Order = (typeof ORDERS)[number];

/** The samples of a node. */
export interface Samples {
  /** How many samples the function has. */
  of: number;
  /** The line of code; null for the function itself. */
  line: StackFrame | null;
}

export interface Node {
  frame: FlameFrame;
  parent: Node | null;
  children: Node[];
  /** Instead of the value, if the lines of a function are shown. */
  samples?: Samples;
}

/** A box: `x` and `width` are shares of the total width; `row` counts from the top. */
export interface Box {
  node: Node;
  row: number;
  x: number;
  width: number;
}

/** The nodes of an answer by id. The first is the root. */
export function toNodes(answer: FlameAnswer): Map<string, Node> {
  const nodes = new Map<string, Node>();
  for (const frame of [...answer.ancestors, ...answer.frames]) {
    const parent = (frame.parent !== null && nodes.get(frame.parent)) || null;
    const node: Node = { frame, parent, children: [] };
    parent?.children.push(node);
    nodes.set(frame.id, node);
  }
  return nodes;
}

/**
 * How many of the attempts of an answer have a measured memory of their own (`known`), and how many shared a
 * process.
 */
export function measuredMemory(answer: FlameAnswer): { known: number; shared: number; attempts: number } {
  const sum = { known: 0, shared: 0, attempts: 0 };
  for (const frame of answer.frames) {
    sum.known += frame.memory_known;
    sum.shared += frame.memory_shared;
    sum.attempts += frame.attempts;
  }
  return sum;
}

/** The path from the root to a node, including the node. */
export function lineOf(node: Node): Node[] {
  const line: Node[] = [];
  for (let at: Node | null = node; at !== null; at = at.parent) line.unshift(at);
  return line;
}

function inOrder(children: Node[], order: Order): Node[] {
  const first = (node: Node) => node.frame.first_ns ?? Number.POSITIVE_INFINITY;
  return children.slice().sort((a, b) => {
    const last = Number(a.frame.kind === 'other') - Number(b.frame.kind === 'other');
    if (last !== 0) return last;
    const by = order === 'time' ? first(a) - first(b) || 0 : b.frame.value - a.frame.value;
    return by || (a.frame.id < b.frame.id ? -1 : 1);
  });
}

/**
 * The boxes, row by row and from left to right. `zoomed` and its ancestors have the full width. Boxes
 * narrower than `least` (a share of the width) are left out with everything below them.
 */
export function layout(zoomed: Node, order: Order, least: number): Box[] {
  const boxes: Box[] = lineOf(zoomed).map((node, row) => ({ node, row, x: 0, width: 1 }));
  const whole = zoomed.frame.value;
  if (whole <= 0) return boxes;
  for (let at = boxes.length - 1; at < boxes.length; at += 1) {
    const above = boxes[at] as Box;
    let x = above.x;
    for (const node of inOrder(above.node.children, order)) {
      const width = node.frame.value / whole;
      if (width >= least) boxes.push({ node, row: above.row + 1, x, width });
      x += width;
    }
  }
  return boxes;
}

/** Tolerance for rounding errors, so that touching edges are rounded alike, px. */
const ROUNDING_TOLERANCE = 1e-6;

/**
 * The left and right edge of a box in whole pixels, on a canvas of the given width. A box starts where its
 * neighbour ends and never extends beyond the box above. If it is narrower than a pixel, both edges may be
 * equal.
 */
export function edges(box: Pick<Box, 'x' | 'width'>, width: number): { left: number; right: number } {
  const round = (share: number) => Math.round(share * width + ROUNDING_TOLERANCE);
  return { left: round(box.x), right: round(box.x + box.width) };
}

/** A predicate for frames whose name contains the search text, ignoring case; null without a search. */
export function matcher(text: string | undefined): ((frame: FlameFrame) => boolean) | null {
  const wanted = text?.trim().toLowerCase() ?? '';
  if (wanted === '') return null;
  return (frame) => frame.name?.toLowerCase().includes(wanted) ?? false;
}

/**
 * The number of matching frames at or below `top`, and their value. Each value includes everything below the
 * frame, and nested matches are counted once.
 */
export function found(top: Node, matches: (frame: FlameFrame) => boolean): { frames: number; value: number } {
  let frames = 0;
  let value = 0;
  const waiting: { node: Node; inside: boolean }[] = [{ node: top, inside: false }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { node, inside } = next;
    const hit = matches(node.frame);
    if (hit) frames += 1;
    if (hit && !inside) value += node.frame.value;
    for (const child of node.children) waiting.push({ node: child, inside: inside || hit });
  }
  return { frames, value };
}

const SUMMED = ['own', 'attempts', 'folded'] as const;

/**
 * The functions at or below `top` with the sums over their frames, each under the id of its largest frame.
 * Values include everything below, so frames below another one of the same function are not added.
 */
export function functionsBelow(top: Node): FlameFrame[] {
  const sums = new Map<string, FlameFrame & { largest: number }>();
  const visit = ({ frame, children }: Node, above: ReadonlySet<string>) => {
    const key = `${frame.kind} ${frame.name}`;
    const sum = sums.get(key);
    if (sum === undefined) sums.set(key, { ...frame, largest: frame.value });
    else {
      for (const field of SUMMED) sum[field] += frame[field];
      if (!above.has(key)) {
        sum.value += frame.value;
        if (frame.baseline_value !== null)
          sum.baseline_value = (sum.baseline_value ?? 0) + frame.baseline_value;
        if (frame.value > sum.largest) Object.assign(sum, { id: frame.id, largest: frame.value });
      }
    }
    const inside = new Set(above).add(key);
    for (const child of children) visit(child, inside);
  };
  visit(top, new Set());
  return [...sums.values()];
}

/**
 * The relative change from the compared value, which is multiplied by `scale` first: from -1 (removed) to 1
 * (new). Null if the frame is not compared.
 */
export function change(frame: FlameFrame, scale = 1): number | null {
  if (frame.baseline_value === null) return null;
  const before = frame.baseline_value * scale;
  const most = Math.max(frame.value, before);
  return most === 0 ? 0 : (frame.value - before) / most;
}

/**
 * The factor for compared values. Two ranges of time may differ in length, so if `relative` is set, values
 * are scaled to the same total.
 */
export function scaleOf(answer: Pick<FlameAnswer, 'total' | 'baseline_total'>, relative: boolean): number {
  return relative && answer.baseline_total && answer.total ? answer.total / answer.baseline_total : 1;
}

/** The box that an arrow key selects from `at`, or `at` itself. */
export function neighbour(boxes: Box[], at: Box, key: string): Box {
  if (key === 'ArrowUp') return boxes.find((box) => box.node === at.node.parent) ?? at;
  if (key === 'ArrowDown') return boxes.find((box) => box.node.parent === at.node) ?? at;
  const row = boxes.filter((box) => box.row === at.row);
  const step = key === 'ArrowRight' ? 1 : key === 'ArrowLeft' ? -1 : 0;
  return row[row.indexOf(at) + step] ?? at;
}

/** The largest frame with a name. */
export function largest(nodes: Iterable<Node>, name: string): Node | undefined {
  let best: Node | undefined;
  for (const node of nodes)
    if (node.frame.name === name && (best === undefined || node.frame.value > best.frame.value)) best = node;
  return best;
}

/** `42%`, `4.2%`, `<0.1%`; zero of zero is `0%`. */
export function shareText(part: number, whole: number): string {
  const share = whole > 0 ? part / whole : 0;
  if (share > 0 && share < 0.0005) return '<0.1%';
  return `${(share * 100).toFixed(share >= 0.1 || share === 0 ? 0 : 1)}%`;
}

/**
 * The change of a frame in the weight's unit (`by`), and the same relative to its earlier value: `+3.2%` or
 * `−40%`.
 */
export function changeOf(frame: FlameFrame, scale: number): { by: number; text: string } {
  const before = (frame.baseline_value ?? 0) * scale;
  const by = frame.value - before;
  if (before === 0 || by === 0) return { by, text: '' };
  return { by, text: `${by > 0 ? '+' : '−'}${shareText(Math.abs(by), before)}` };
}
