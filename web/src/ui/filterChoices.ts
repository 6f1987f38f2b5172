import type { Job, Node } from '../api/schema';
import { programName, shortId } from '../base/format';
import { nodeTitle } from '../base/nodeTitle';

/** An option of a field in the filter bar. */
export type Choice = { value: string; label: string };

/** The distinct names, including the chosen one even if it is not among them. */
export function withChosen(names: string[], chosen: string | undefined): string[] {
  const all = [...new Set(names)];
  if (chosen && !all.includes(chosen)) all.unshift(chosen);
  return all;
}

/** The options built from the items, including the chosen one even if it is not among them. */
export function choices<T>(
  items: T[] | undefined,
  field: keyof T,
  label: (item: T) => string,
  chosen: string | undefined,
): Choice[] {
  const found = (items ?? [])
    .map((item) => ({ value: String(item[field] ?? ''), label: label(item) }))
    .filter(
      (choice, at, all) =>
        choice.value !== '' && all.findIndex((other) => other.value === choice.value) === at,
    );
  if (chosen && !found.some((choice) => choice.value === chosen))
    found.unshift({ value: chosen, label: shortId(chosen) });
  return found;
}

export function nodeLabel(node: Node): string {
  const [name, id] = [nodeTitle(node), shortId(node.node_id)];
  return name === id ? id : `${name} (${id})`;
}

export function jobLabel({ job_id, entrypoint, submission_id }: Job): string {
  const entry = entrypoint || submission_id;
  return entry ? `${programName(entry)} (${job_id})` : job_id;
}
