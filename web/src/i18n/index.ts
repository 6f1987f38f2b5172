import i18next from 'i18next';
import { initReactI18next } from 'react-i18next';
import { load, save } from '../lib/storage';
import { en } from './en';
import { zh } from './zh';

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

export function initI18n(): void {
  const url = new URLSearchParams(window.location.search).get('lang');
  const language = chooseLanguage(url, load('lang'), navigator.languages ?? [navigator.language]);
  if (url) save('lang', language);
  void i18next.use(initReactI18next).init({
    lng: language,
    fallbackLng: 'en',
    resources: { en: { translation: en }, zh: { translation: zh } },
    // React escapes; escaping twice would show &lt; for names with a <.
    interpolation: { escapeValue: false },
    returnNull: false,
  });
  document.documentElement.lang = language === 'zh' ? 'zh-CN' : 'en';
}

export function setLanguage(language: Language): void {
  save('lang', language);
  document.documentElement.lang = language === 'zh' ? 'zh-CN' : 'en';
  void i18next.changeLanguage(language);
}
