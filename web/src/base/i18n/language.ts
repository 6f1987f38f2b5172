import { load, save } from '../storage';

export const LANGUAGES = { en: 'English', zh: '简体中文' } as const;
export type Language = keyof typeof LANGUAGES;

/** The first of these that names a language we have: the URL, the last choice, the browser; else English. */
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

/** The language to begin with; one that the URL names is kept. */
export function firstLanguage(): Language {
  const url = new URLSearchParams(window.location.search).get('lang');
  const language = chooseLanguage(url, load('lang'), navigator.languages ?? [navigator.language]);
  if (url) save('lang', language);
  return language;
}

/** All texts of a language: a chunk of its own, so that nobody waits for the others. */
export async function loadTexts(language: Language) {
  return language === 'zh' ? (await import('./zh')).zh : (await import('./en')).en;
}

export type Texts = Awaited<ReturnType<typeof loadTexts>>;
