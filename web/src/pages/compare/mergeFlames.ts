/** Merges the flame graphs of two runs into one tree of call paths. */

import type { FlameAnswer, FlameFrame } from '../../api/schema';
import { type Node, toNodes } from '../../views/flame/flame';
import { grouped, type Pair, type SideName } from './sides';

/** A call path on both sides. */
export interface FramePair extends Pair<FlameFrame> {
  /** It may be one of the small frames that a side has merged, or it stands for those. */
  isUnknown: boolean;
}

export interface MergedFlames {
  /** The merged tree. Its values are those of the side `width`. */
  answer: FlameAnswer;
  /** The figures of both sides, by the id of a frame of the merged tree. */
  pairs: ReadonlyMap<string, FramePair>;
  /** The greatest change of any frame, as a share of the total. */
  most: number;
}

export function mergeFlames(a: FlameAnswer, b: FlameAnswer, width: SideName): MergedFlames {
  const frames: FlameFrame[] = [];
  const pairs = new Map<string, FramePair>();
  const visit = (id: string, parent: string | null, of: Record<SideName, Node[]>, isUnknown: boolean) => {
    const pair = { a: sumOf(of.a), b: sumOf(of.b), isUnknown: isUnknown || [...of.a, ...of.b].some(isSmall) };
    const known = pair[width] ?? ({ ...(pair.a ?? pair.b), ...EMPTY } as FlameFrame);
    const depth = id.split('/').length - 1;
    frames.push({ ...known, id, parent, depth, baseline_own: null, baseline_value: null });
    pairs.set(id, pair);
    const [below, other] = [of.a, of.b].map((nodes) => nodes.flatMap(({ children }) => children));
    for (const [key, group] of grouped(below as Node[], other as Node[], keyOf)) {
      const isMerged = (side: SideName) =>
        group[side].length === 0 &&
        (of[side].length === 0 ? isUnknown : of[side].some((node) => node.children.some(isSmall)));
      visit(`${id}/${key}`, id, group, isMerged('a') || isMerged('b'));
    }
  };
  visit('', null, { a: rootOf(a), b: rootOf(b) }, false);
  const shown = width === 'a' ? a : b;
  const answer = { ...shown, frames, frames_total: frames.length, ancestors: [], folded: 0 };
  const all = [...pairs.values()];
  const most = Math.max(0, ...all.map((pair) => Math.abs(changeOf(pair, shown.total) ?? 0)));
  return { answer, pairs, most };
}

/** The merged tree as data: each call path with the figures of both sides; null where a side lacks it. */
export const dataOf = ({ answer: { weight, frames }, pairs }: MergedFlames) => ({
  weight,
  frames: frames.map(({ id, parent, name, kind }) => ({ id, parent, name, kind, ...pairs.get(id) })),
});

/** The change from A to B as a share of `total`; null if it is unknown. */
export function changeOf({ a, b, isUnknown }: FramePair, total: number): number | null {
  return isUnknown || total <= 0 ? null : ((b?.value ?? 0) - (a?.value ?? 0)) / total;
}

/** Whether only one side has a call path. */
export const isOneSided = ({ a, b, isUnknown }: FramePair) => !isUnknown && (a === null || b === null);

const EMPTY = { own: 0, value: 0, attempts: 0, failed: 0, running: 0 };

const isSmall = ({ frame }: Node) => frame.kind === 'other';

const keyOf = ({ frame }: Node) => `${frame.kind} ${encodeURIComponent(frame.name ?? '')}`;

/** The root, which stands for all attempts of the answer. */
function rootOf(answer: FlameAnswer): Node[] {
  const [root] = toNodes(answer).values();
  return root ? [{ ...root, frame: { ...root.frame, attempts: answer.attempts } }] : [];
}

/** The sum of frames with the same name below the same path, such as functions of two modules. */
function sumOf(nodes: readonly Node[]): FlameFrame | null {
  const [first, ...others] = nodes.map(({ frame }) => frame);
  if (first === undefined) return null;
  const sum = { ...first };
  for (const one of others)
    for (const field of ['own', 'value', 'attempts', 'folded'] as const) sum[field] += one[field];
  return sum;
}
