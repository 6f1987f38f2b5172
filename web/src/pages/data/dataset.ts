import type { DatasetItem, Operator } from './types';

/** The share of its blocks that a dataset or an operator has made, null where Ray does not know how many there are. */
export function share(of: {
  state: string | null;
  progress: number | null;
  total: number | null;
}): number | null {
  if (of.state === 'FINISHED') return 1;
  if (of.progress === null || of.total === null || of.total < Math.max(1, of.progress)) return null;
  return of.progress / of.total;
}

/** How long a dataset has run, ns. */
export function lastedNs({ start_ns, end_ns }: DatasetItem, now = Date.now()): number | null {
  return start_ns === null ? null : (end_ns ?? now * 1e6) - start_ns;
}

/** How long it will still take at the pace so far, ns; null where that cannot be said. */
export function leftNs(dataset: DatasetItem, now = Date.now()): number | null {
  const part = share(dataset);
  const lasted = lastedNs(dataset, now);
  if (dataset.end_ns !== null || part === null || part === 0 || part === 1 || lasted === null) return null;
  return (lasted * (1 - part)) / part;
}

/** How uneven something is: the greatest over the median. */
export function skew(greatest: number | null | undefined, median: number | null | undefined): number | null {
  return greatest == null || median == null || median <= 0 ? null : greatest / median;
}

/** What finds the tasks of an operator in the list of tasks. */
export function tasksOf(operator: Operator): Record<string, string> {
  const [first] = operator.tasks?.names ?? [];
  if (first === undefined) return { name: operator.name };
  // All map tasks of Ray Data are one function and bear the operator's name; an actor pool has methods of its own.
  return first.name === operator.name || first.func_name === null
    ? { name: first.name ?? operator.name }
    : { func_name: first.func_name };
}

/** The name of a fused operator (`ReadRange->Map(f)`), which may be broken behind its arrows. */
export const breakable = (name: string) => name.replaceAll('->', '->\u200b');
