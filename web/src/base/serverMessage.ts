/** An error or a note as sent by the API. */
export interface ServerMessage {
  code?: string | null;
  message: string;
  remedy?: string | null;
  /** The values that the message contains. */
  params?: Record<string, string | number> | null;
}

/**
 * The key of the translated message; null if there is no translation or if it needs a value that the message
 * lacks.
 */
export function messageKey(message: ServerMessage, lookUp: (key: string) => unknown): string | null {
  const params = message.params ?? {};
  const name = params.what === undefined ? message.code : `${message.code}_${params.what}`;
  const key = `serverMessage.${name}`;
  const text = lookUp(`${key}.message`);
  if (typeof text !== 'string') return null;
  const names = [...text.matchAll(/\{\{(\w+)\}\}/g)].map(([, name]) => name ?? '');
  return names.every((name) => name in params) ? key : null;
}
