import i18next from 'i18next';
import { initReactI18next } from 'react-i18next';
import { addFormats } from '../base/i18n/formats';
import { type Language, loadTexts, type Texts } from '../base/i18n/language';
import { save } from '../base/storage';

export function initI18n(language: Language, texts: Texts): void {
  void i18next.use(initReactI18next).init({
    lng: language,
    // A test ensures that every language has every text.
    fallbackLng: false,
    resources: { [language]: { translation: texts } },
    // React already escapes. Escaping twice would show &lt; in names with a <.
    interpolation: { escapeValue: false },
    returnNull: false,
  });
  addFormats(i18next);
  setDocumentLanguage(language);
}

export async function setLanguage(language: Language): Promise<void> {
  save('lang', language);
  i18next.addResourceBundle(language, 'translation', await loadTexts(language));
  setDocumentLanguage(language);
  await i18next.changeLanguage(language);
}

function setDocumentLanguage(language: Language): void {
  document.documentElement.lang = language === 'zh' ? 'zh-CN' : 'en';
}
