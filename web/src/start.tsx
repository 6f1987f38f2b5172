import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import type { Language, Texts } from './base/i18n/language';
import { App } from './shell/App';
import { initI18n } from './shell/i18n';

export function start(root: HTMLElement, language: Language, texts: Texts): void {
  initI18n(language, texts);
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
