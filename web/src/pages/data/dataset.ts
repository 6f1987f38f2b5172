import type { DatasetItem, OperatorDetail } from '../../api/schema';
import { elapsedNs } from '../../base/format';
import type { CardLink } from '../../ui/cardColumns';

type Planned = Pick<OperatorDetail, 'operator_id' | 'inputs'>;

/** The share of blocks that a dataset or an operator has finished; null if the total is unknown. */
export function share(of: {
  state: string | null;
  progress: number | null;
  total: number | null;
}): number | null {
  if (of.state === 'FINISHED') return 1;
  if (of.progress === null || of.total === null || of.total < Math.max(1, of.progress)) return null;
  return of.progress / of.total;
}

/** Estimated remaining time at the pace so far, ns; null if unknown. */
export function leftNs(dataset: DatasetItem, now = Date.now()): number | null {
  const part = share(dataset);
  const lasted = elapsedNs(dataset, now);
  if (dataset.end_ns !== null || part === null || part === 0 || part === 1 || lasted === null) return null;
  return (lasted * (1 - part)) / part;
}

/** How many times the median the maximum is; null if unknown. */
export function skew(greatest: number | null | undefined, median: number | null | undefined): number | null {
  return greatest == null || median == null || median <= 0 ? null : greatest / median;
}

/** Filters that select the tasks of an operator in the list of tasks. */
export function tasksOf(operator: OperatorDetail): Record<string, string> {
  const [first] = operator.tasks?.names ?? [];
  if (first === undefined) return { name: operator.name };
  // In Ray Data, all map tasks share one function and are named after their operator. The tasks of actor
  // pools are methods.
  return first.name === operator.name || first.func_name === null
    ? { name: first.name ?? operator.name }
    : { func_name: first.func_name };
}

/** Pairs of operator ids between which blocks pass; null unless the inputs of all operators are known. */
export function inputsOf(operators: readonly Planned[]): CardLink[] | null {
  const links: CardLink[] = [];
  for (const { operator_id: to, inputs } of operators) {
    if (inputs === null) return null;
    for (const from of inputs) links.push([from, to]);
  }
  return links;
}

/** Whether each operator takes its blocks only from the one before it. */
export function isChain(operators: readonly Planned[], inputs: readonly CardLink[]): boolean {
  return (
    inputs.length === operators.length - 1 &&
    inputs.every(
      ([from, to], at) => from === operators[at]?.operator_id && to === operators[at + 1]?.operator_id,
    )
  );
}

/** The name of a fused operator (`ReadRange->Map(f)`) with line breaks allowed after its arrows. */
export const breakable = (name: string) => name.replaceAll('->', '->\u200b');
