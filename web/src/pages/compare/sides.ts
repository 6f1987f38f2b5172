import type { ComparedRun } from '../../api/schema';

/** One of the two sides of a comparison. */
export type SideName = 'a' | 'b';

export interface PictureProps {
  runs: Record<SideName, ComparedRun>;
}

/** An item of both sides. Null: the side does not have it. */
export interface Pair<T> {
  a: T | null;
  b: T | null;
}

/** The items of both sides by a key that is the same on both. Several items of one side may share a key. */
export function grouped<T>(a: readonly T[], b: readonly T[], keyOf: (item: T) => string) {
  const groups = new Map<string, { a: T[]; b: T[] }>();
  for (const [side, items] of [['a', a] as const, ['b', b] as const])
    for (const item of items) {
      const key = keyOf(item);
      const group = groups.get(key) ?? { a: [], b: [] };
      group[side].push(item);
      groups.set(key, group);
    }
  return groups;
}
