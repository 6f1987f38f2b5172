/** The sampled lines of a function, as frames below its frame in the flame graph. */

import type { LinesAnswer, StackFrame } from '../../api/schema';
import type { Node } from './flame';

/**
 * The nodes by id: first that of the function, then those of its sampled frames. Their values are numbers of
 * samples. Samples without a line leave a gap. `lostName`: a name for frames without a line.
 */
export function lineNodes(
  node: Node,
  answer: LinesAnswer,
  lostName: (kind: 'left_out' | 'unknown') => string,
): Map<string, Node> {
  const { samples } = answer;
  const top: Node = {
    frame: { ...node.frame, value: samples },
    parent: node.parent,
    children: [],
    samples: { of: samples, line: null },
  };
  const nodes = new Map([[node.frame.id, top]]);
  for (const line of answer.frames) {
    const parent = line.parent === null ? top : nodes.get(idOf(line.parent));
    if (parent === undefined) continue;
    const child: Node = {
      frame: {
        ...node.frame,
        id: idOf(line.id),
        parent: parent.frame.id,
        kind: line.kind === 'code' ? 'call' : 'unknown',
        name: line.kind === 'code' ? nameOf(line) : lostName(line.kind),
        own: line.own,
        value: line.value,
      },
      parent,
      children: [],
      samples: { of: samples, line },
    };
    parent.children.push(child);
    nodes.set(child.frame.id, child);
  }
  return nodes;
}

const idOf = (id: string) => `line:${id}`;

function nameOf({ file, line, function: name }: StackFrame): string {
  return `${name} · ${file.slice(file.lastIndexOf('/') + 1)}:${line}`;
}
