/** An arrow between two cards, by id. */
export type CardLink = readonly [from: string, to: string];

/**
 * Arranges cards in columns. Each card is to the right of all cards that link to it, so cards that nothing
 * links to are in the first column. Links that close a cycle are ignored. Cards in a column keep their given
 * order.
 */
export function columnsOf(ids: readonly string[], links: readonly CardLink[]): string[][] {
  const after = new Map<string, string[]>();
  for (const [from, to] of links) after.set(from, [...(after.get(from) ?? []), to]);
  const reached = new Set([...after.values()].flat());
  const starts = [...ids].sort((a, b) => Number(reached.has(a)) - Number(reached.has(b)));
  const isOpen = new Map<string, boolean>();
  const order: string[] = [];
  const forward: CardLink[] = [];
  for (const start of starts) {
    const path: [string, number][] = isOpen.has(start) ? [] : [[start, 0]];
    while (path.length > 0) {
      const step = path[path.length - 1] as [string, number];
      const [id] = step;
      if (step[1] === 0) isOpen.set(id, true);
      const next = after.get(id)?.[step[1]++];
      if (next === undefined) {
        isOpen.set(id, false);
        order.push(id);
        path.pop();
      } else if (isOpen.get(next) !== true) {
        forward.push([id, next]);
        if (!isOpen.has(next)) path.push([next, 0]);
      }
    }
  }
  const depths = new Map<string, number>();
  const places = new Map(order.reverse().map((id, at) => [id, at]));
  forward.sort(([a], [b]) => (places.get(a) ?? 0) - (places.get(b) ?? 0));
  for (const [from, to] of forward)
    depths.set(to, Math.max(depths.get(to) ?? 0, (depths.get(from) ?? 0) + 1));
  const columns: string[][] = [];
  for (const id of ids) {
    const depth = depths.get(id) ?? 0;
    while (columns.length <= depth) columns.push([]);
    columns[depth]?.push(id);
  }
  return columns;
}
