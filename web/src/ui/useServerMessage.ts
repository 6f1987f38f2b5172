import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import { messageKey, type ServerMessage } from '../base/serverMessage';

interface LocalMessage {
  message: string;
  remedy: string | null;
}

/**
 * Translates the server's messages. A message without a translation stays as the server sent it. `of` tells
 * whether the error codes are the server's or those of a node's agent.
 */
export function useServerMessage(
  of: 'server' | 'agent' = 'server',
): (message: ServerMessage) => LocalMessage {
  const { t, i18n } = useTranslation();
  // Keys are built from error codes, so `messageKey` first checks that they exist.
  const translate = t as TFunction<'translation', undefined> as (key: string, values: object) => string;
  return (message) => {
    const key = messageKey(of, message, (key) => i18n.getResource(i18n.language, 'translation', key));
    if (key === null) return { message: message.message, remedy: message.remedy ?? null };
    const params = message.params ?? {};
    return { message: translate(`${key}.message`, params), remedy: translate(`${key}.remedy`, params) };
  };
}
