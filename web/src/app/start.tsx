import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { initI18n } from '../i18n';
import type { Language, Texts } from '../i18n/language';
import { App } from './App';

export function start(root: HTMLElement, language: Language, texts: Texts): void {
  initI18n(language, texts);
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
