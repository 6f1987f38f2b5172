import { enShipped } from '../../base/i18n/en.shipped';

export interface Shipped {
  /** Of the texts of the reader's language. */
  key: string;
  values: Record<string, string>;
}

const PLACE = /\{\{(\w+)\}\}/;

/** Which text of a rule that ships this is, and what its places hold; null: it is a text of somebody's own. */
export function shippedText(rule: string, name: string, text: string): Shipped | null {
  const texts: Record<string, Record<string, string>> = enShipped.shipped;
  const english = texts[rule]?.[name];
  if (english === undefined) return null;
  // Between each two pieces of the text is the name of a place.
  const pieces = english.split(PLACE);
  const names = pieces.filter((_, i) => i % 2 === 1);
  const pattern = pieces.map((piece, i) => (i % 2 === 1 ? '(.*)' : escaped(piece))).join('');
  const found = new RegExp(`^${pattern}$`).exec(text);
  if (found === null) return null;
  const values = Object.fromEntries(names.map((name, i) => [name, found[i + 1] ?? '']));
  return { key: `shipped.${rule}.${name}`, values };
}

/** A text as a pattern of itself. */
export function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
