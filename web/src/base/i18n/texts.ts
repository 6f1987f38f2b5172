/** The English texts. Each `en.ts` adds its own here, so that the compiler checks the keys of texts. */
// biome-ignore lint/suspicious/noEmptyInterface: each `en.ts` declares its own members
export interface PageTexts {}

type Intersection<T> = (T extends unknown ? (each: T) => void : never) extends (all: infer All) => void
  ? All
  : never;
export type English = Intersection<PageTexts[keyof PageTexts]>;

/** The type of the same texts in another language: the keys are the same. */
export type Translated<T> = { [K in keyof T]: T[K] extends string ? string : Translated<T[K]> };

type Groups = Record<string, object>;

/**
 * Adds the texts of pages to the shared ones. Each page adds its name to `nav` and its description to
 * `intro`.
 */
export function withPages(shared: Groups, pages: object): Groups {
  const all: Groups = {};
  for (const part of [shared, ...(Object.values(pages) as Groups[])])
    for (const [group, texts] of Object.entries(part)) all[group] = { ...all[group], ...texts };
  return all;
}
