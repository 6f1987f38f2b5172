import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import { messageKey, type ServerMessage } from '../base/serverMessage';
import { usePunctuation } from './usePunctuation';

interface LocalMessage {
  message: string;
  remedy: string | null;
  /** Both of them in one line. */
  line: string;
}

/**
 * Translates the server's messages. A message without a text in the user's language stays as the server sent
 * it, which in English is the rule.
 */
export function useServerMessage(): (message: ServerMessage) => LocalMessage {
  const { t, i18n } = useTranslation();
  const { gap } = usePunctuation();
  const local = (message: string, remedy: string | null | undefined): LocalMessage => ({
    message,
    remedy: remedy ?? null,
    line: [message, remedy].filter(Boolean).join(gap),
  });
  // Keys are built from error codes, so `messageKey` first checks that they exist.
  const translate = t as TFunction<'translation', undefined> as (key: string, values: object) => string;
  const lookUp = (key: string) => i18n.getResource(i18n.language, 'translation', key);
  return (message) => {
    const key = messageKey(message, lookUp);
    if (key === null) return local(message.message, message.remedy);
    const params = message.params ?? {};
    const hasRemedy = typeof lookUp(`${key}.remedy`) === 'string';
    return local(
      translate(`${key}.message`, params),
      hasRemedy ? translate(`${key}.remedy`, params) : message.remedy,
    );
  };
}
