/** Where the nodes of a logical graph stand: elkjs in a worker, loaded when it is first needed. */

import type { Rect } from './logicalLayout';

export interface EdgeShape {
  path: string;
  arrow: string;
  label: { x: number; y: number };
}

/**
 * A curve from one node to another with its arrow's head: calls above the middle, data below. One that is
 * bundled leaves its node by the same way as the others of the bundle.
 */
export function edgeShape(
  a: Rect,
  b: Rect,
  kind: 'call' | 'data',
  isSelf: boolean,
  isBundled = false,
): EdgeShape {
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
  if (isBundled && forward && b.x - a.x - a.width > 2 * TRUNK) {
    const [x, trunk, end] = [a.x + a.width, a.x + a.width + (kind === 'call' ? TRUNK : TRUNK + 12), b.x - 6];
    const turn = Math.min(10, Math.abs(toY - fromY) / 2) * Math.sign(toY - fromY);
    const size = Math.abs(turn);
    return {
      path:
        `M ${x} ${fromY} H ${trunk - size} Q ${trunk} ${fromY}, ${trunk} ${fromY + turn} ` +
        `V ${toY - turn} Q ${trunk} ${toY}, ${trunk + size} ${toY} H ${end}`,
      arrow: head(b.x, toY, 1),
      label: { x: b.x - 26, y: toY },
    };
  }
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

/** Where a bundle branches, right of its node. px. */
const TRUNK = 26;

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
