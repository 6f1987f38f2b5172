type Value = number | string | null;

/**
 * The rows in the order of `sort`, a key of `values`, or `-` and a key for the greatest first. Unknown values
 * are last. Without `sort`, the order stays.
 */
export function sorted<T>(
  rows: readonly T[],
  values: Record<string, (row: T) => Value>,
  sort: string | undefined,
): T[] {
  const value = values[sort?.replace('-', '') ?? ''];
  if (value === undefined) return [...rows];
  const sign = sort?.startsWith('-') ? -1 : 1;
  return [...rows].sort((one, other) => {
    const [left, right] = [value(one), value(other)];
    if (left === right) return 0;
    if (left === null || right === null) return left === null ? 1 : -1;
    return left < right ? -sign : sign;
  });
}
