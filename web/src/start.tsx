import { lazy, StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import type { Language, Texts } from './base/i18n/language';
import { VIEWS } from './base/url';
import { LINKS } from './links';
import { PAGE_CODE, prefetchCode } from './loaders';
import { SessionsPage } from './pages/sessions/SessionsPage';
import { App } from './shell/App';
import { initI18n } from './shell/i18n';
import { type Pages, PagesProvider } from './shell/pages';

const PAGES: Pages = {
  Sessions: SessionsPage,
  Compare: lazy(() => import('./pages/compare/ComparePage')),
  Runs: lazy(() => import('./pages/runs/RunsPage')),
  views: Object.fromEntries(
    VIEWS.map((view) => [view, lazy(PAGE_CODE[view].load)]),
  ) as unknown as Pages['views'],
  links: LINKS,
  prefetch: prefetchCode,
  TaskDrawer: lazy(() => import('./pages/tasks/TaskDrawer').then((found) => ({ default: found.TaskDrawer }))),
};

export function start(root: HTMLElement, language: Language, texts: Texts): void {
  initI18n(language, texts);
  createRoot(root).render(
    <StrictMode>
      <PagesProvider value={PAGES}>
        <App />
      </PagesProvider>
    </StrictMode>,
  );
}
