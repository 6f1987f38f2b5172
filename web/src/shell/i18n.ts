import i18next from 'i18next';
import { initReactI18next } from 'react-i18next';
import { addFormats } from '../base/i18n/formats';
import { type Language, loadTexts, type Texts } from '../base/i18n/language';
import { save } from '../base/storage';

export function initI18n(language: Language, texts: Texts): void {
  void i18next.use(initReactI18next).init({
    lng: language,
    // Every language has every text (a test compares them).
    fallbackLng: false,
    resources: { [language]: { translation: texts } },
    // React escapes; escaping twice would show &lt; for names with a <.
    interpolation: { escapeValue: false },
    returnNull: false,
  });
  addFormats(i18next);
  tellDocument(language);
}

export async function setLanguage(language: Language): Promise<void> {
  save('lang', language);
  i18next.addResourceBundle(language, 'translation', await loadTexts(language));
  tellDocument(language);
  await i18next.changeLanguage(language);
}

function tellDocument(language: Language): void {
  document.documentElement.lang = language === 'zh' ? 'zh-CN' : 'en';
}
