import type { NodeRow } from '../api/nodes';
import type { Item } from '../api/types';
import { programName, shortId } from '../base/format';
import { nodeTitle } from '../base/nodeTitle';

/** An option of a field in the filter bar. */
export type Choice = { value: string; label: string };

/** The names including the chosen one. */
export function withChosen(names: string[], chosen: string | undefined): string[] {
  const all = [...new Set(names)];
  if (chosen && !all.includes(chosen)) all.unshift(chosen);
  return all;
}

/** The options built from the items, including the chosen one. */
export function choices(
  items: Item[] | undefined,
  field: string,
  label: (item: Item) => string,
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

/** The first of these fields that contains a text. */
const firstText = (item: Item, names: string[]) => {
  for (const name of names) if (typeof item[name] === 'string' && item[name] !== '') return item[name];
  return null;
};

export function nodeLabel(item: Item): string {
  const node = item as unknown as NodeRow;
  const [name, id] = [nodeTitle(node), shortId(node.node_id)];
  return name === id ? id : `${name} (${id})`;
}

export function jobLabel(item: Item): string {
  const entry = firstText(item, ['entrypoint', 'submission_id']);
  const id = String(item.job_id ?? '');
  return entry === null ? id : `${programName(entry)} (${id})`;
}
