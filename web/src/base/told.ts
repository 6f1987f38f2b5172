/** What the server says of something that went wrong. */
export interface Told {
  code?: string | null;
  message: string;
  remedy?: string | null;
  /** What the message names. */
  params?: Record<string, string | number> | null;
}

/** The key of the texts for it, or null: there are none, or they name what it does not tell. */
export function textOf(of: string, told: Told, lookUp: (key: string) => unknown): string | null {
  const params = told.params ?? {};
  const name = params.what === undefined ? told.code : `${told.code}_${params.what}`;
  const key = `told.${of}.${name}`;
  const text = lookUp(`${key}.message`);
  if (typeof text !== 'string') return null;
  const names = [...text.matchAll(/\{\{(\w+)\}\}/g)].map(([, name]) => name ?? '');
  return names.every((name) => name in params) ? key : null;
}
