import i18next from 'i18next';
import { initReactI18next } from 'react-i18next';
import { addFormats } from '../base/i18n/formats';
import { type Language, loadTexts } from '../base/i18n/language';
import { save } from '../base/storage';

export function initI18n(language: Language, texts: readonly object[]): void {
  void i18next.use(initReactI18next).init({
    lng: language,
    // A test ensures that every language has every text.
    fallbackLng: false,
    resources: {},
    // React already escapes. Escaping twice would show &lt; in names with a <.
    interpolation: { escapeValue: false },
    returnNull: false,
    // Texts on screen change when those of a page arrive.
    react: { bindI18nStore: 'added' },
  });
  addFormats(i18next);
  for (const some of texts) add(language, some);
  setDocumentLanguage(language);
}

export async function setLanguage(language: Language): Promise<void> {
  save('lang', language);
  await addTexts(language);
  setDocumentLanguage(language);
  await i18next.changeLanguage(language);
}

/** Loads the texts of all pages. */
export async function addTexts(language = i18next.language as Language): Promise<void> {
  for (const texts of await loadTexts(language)) add(language, texts);
}

const add = (language: Language, texts: object) =>
  i18next.addResourceBundle(language, 'translation', texts, true);

function setDocumentLanguage(language: Language): void {
  document.documentElement.lang = language === 'zh' ? 'zh-CN' : 'en';
}
