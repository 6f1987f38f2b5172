import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import { type Told, textOf } from '../base/told';

interface Said {
  message: string;
  remedy: string | null;
}

/**
 * The server's words in the reader's language where the code says all that they say; else as they came.
 * `of`: who has such codes, a node's agent or (else) the server.
 */
export function useTold(of: 'server' | 'agent' = 'server'): (told: Told) => Said {
  const { t, i18n } = useTranslation();
  // The keys are made of what the server sends: they are looked up before they are used.
  const say = t as TFunction<'translation', undefined> as (key: string, values: object) => string;
  return (told) => {
    const key = textOf(of, told, (key) => i18n.getResource(i18n.language, 'translation', key));
    if (key === null) return { message: told.message, remedy: told.remedy ?? null };
    const params = told.params ?? {};
    return { message: say(`${key}.message`, params), remedy: say(`${key}.remedy`, params) };
  };
}
