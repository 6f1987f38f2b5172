import { address } from '../address';
import { load, save } from '../storage';

export const LANGUAGES = { en: 'English', zh: '简体中文' } as const;
export type Language = keyof typeof LANGUAGES;

/**
 * The language of the URL, the saved choice or the browser, in this order; the first supported one counts.
 * English if none is supported.
 */
export function chooseLanguage(
  url: string | null,
  stored: string | null,
  browser: readonly string[],
): Language {
  for (const wanted of [url, stored, ...browser]) {
    const language = wanted?.toLowerCase().split(/[-_]/)[0];
    if (language === 'en' || language === 'zh') return language;
  }
  return 'en';
}

/** The initial language. If the URL contains a language, it is saved. */
export function firstLanguage(): Language {
  const url = new URLSearchParams(address().split('?')[1]).get('lang');
  const language = chooseLanguage(url, load('lang'), navigator.languages ?? [navigator.language]);
  if (url) save('lang', language);
  return language;
}

/** Loads the texts of all pages, or of the first page alone. They are two chunks for each language. */
export async function loadTexts(language: Language, firstPage = false): Promise<object[]> {
  const first = language === 'zh' ? import('./zh') : import('./en');
  const others = firstPage ? [] : [language === 'zh' ? import('./zh.pages') : import('./en.pages')];
  return (await Promise.all([first, ...others])).map(({ texts }) => texts);
}
