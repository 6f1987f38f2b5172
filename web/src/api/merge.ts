/** Merges a refreshed page of a list into the rows on screen. */

function sameRow(a: object, b: object): boolean {
  const left = a as Record<string, unknown>;
  const right = b as Record<string, unknown>;
  const names = Object.keys(right);
  if (names.length !== Object.keys(left).length) return false;
  return names.every(
    (name) =>
      Object.is(left[name], right[name]) ||
      (typeof right[name] === 'object' && JSON.stringify(left[name]) === JSON.stringify(right[name])),
  );
}

/** `fresh`, reusing the old object of each unchanged row so that it is not rendered again. */
export function reuseRows<T extends object>(
  old: readonly T[],
  fresh: readonly T[],
  keyOf: (row: T) => string,
): T[] {
  const known = new Map(old.map((row) => [keyOf(row), row]));
  return fresh.map((row) => {
    const before = known.get(keyOf(row));
    return before !== undefined && sameRow(before, row) ? before : row;
  });
}

/** `old` in its order, with the new values from `fresh`. No row is added, removed or moved. */
export function updateInPlace<T extends object>(
  old: readonly T[],
  fresh: readonly T[],
  keyOf: (row: T) => string,
): readonly T[] {
  const freshByKey = new Map(fresh.map((row) => [keyOf(row), row]));
  let changed = false;
  const rows = old.map((row) => {
    const now = freshByKey.get(keyOf(row));
    if (now === undefined || sameRow(row, now)) return row;
    changed = true;
    return now;
  });
  return changed ? rows : old;
}

/** How many rows of `fresh` are not in `old`. */
export function countNew<T>(old: readonly T[], fresh: readonly T[], keyOf: (row: T) => string): number {
  const known = new Set(old.map(keyOf));
  return fresh.filter((row) => !known.has(keyOf(row))).length;
}
