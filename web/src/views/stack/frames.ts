/**
 * Python frames of workers: the server's answer, and where the tree lists them below the lines of the stack.
 */

import type { FramesAnswer, MergedFrame, StackNode } from '../../api/schema';
import { placeOf } from '../../ui/frames';
import type { Line } from './stack';

/** A line of the tree: a task's node or, with `frame`, a frame below it. */
export interface Row extends Line {
  id: string;
  /** The parent row. */
  above: string | null;
  level: number;
  indent: number;
  /** Whether the stack branches right above this line. */
  branch?: boolean;
  frame?: MergedFrame;
}

/**
 * The lines, with the frames of each open node right below it. A frame is indented only if the stack branches
 * right above it. Children of a closed frame are hidden.
 */
export function withFrames(
  lines: readonly Line[],
  frames: FramesAnswer | undefined,
  closed: ReadonlySet<string>,
  search: string,
): Row[] {
  const byNode = new Map(frames?.nodes.map((each) => [each.node, each.frames]));
  return lines.flatMap((line) => {
    const { node } = line;
    const below = byNode.get(node.id) ?? [];
    const row: Row = {
      ...line,
      id: node.id,
      above: node.parent,
      level: node.depth + 1,
      indent: node.depth,
      parent: line.parent || below.length > 0,
    };
    return line.open ? [row, ...framesOf(node, below, closed, search)] : [row];
  });
}

function framesOf(
  node: StackNode,
  frames: readonly MergedFrame[],
  closed: ReadonlySet<string>,
  search: string,
): Row[] {
  const wanted = search.trim().toLowerCase();
  const children = new Map<string | null, number>();
  for (const { parent } of frames) children.set(parent, (children.get(parent) ?? 0) + 1);
  const rows = new Map<string, Row>();
  const hidden = new Set<string>();
  for (const frame of frames) {
    const above = frame.parent === null ? undefined : rows.get(frame.parent);
    const forks = (children.get(frame.id) ?? 0) > 1;
    const open = !closed.has(frame.id);
    if (frame.parent !== null && hidden.has(frame.parent)) {
      hidden.add(frame.id);
      continue;
    }
    if (forks && !open) hidden.add(frame.id);
    rows.set(frame.id, {
      node,
      frame,
      id: frame.id,
      above: frame.parent ?? node.id,
      level: node.depth + 2 + frame.depth,
      indent: above === undefined ? node.depth + 1 : above.indent + (above.parent ? 1 : 0),
      branch: above === undefined || above.parent,
      parent: forks,
      open,
      match: wanted !== '' && frame.name.toLowerCase().includes(wanted),
    });
  }
  return [...rows.values()];
}

/** A frame and its callers, innermost first. This is a Python traceback in reverse order. */
export function stackText(frames: readonly MergedFrame[], frame: MergedFrame): string {
  const byId = new Map(frames.map((each) => [each.id, each]));
  const lines: string[] = [];
  let at: MergedFrame | undefined = frame;
  while (at !== undefined) {
    lines.push(`${at.name || at.kind} (${placeOf(at) || at.kind})`);
    at = at.parent === null ? undefined : byId.get(at.parent);
  }
  return lines.join('\n');
}
