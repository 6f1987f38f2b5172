import { type ComponentType, lazy, StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import type { Language } from './base/i18n/language';
import { VIEWS } from './base/url';
import { LINKS } from './links';
import { PAGE_CODE, prefetchCode } from './loaders';
import { SessionsPage } from './pages/sessions/SessionsPage';
import { App } from './shell/App';
import { addTexts, initI18n } from './shell/i18n';
import { type Pages, PagesProvider } from './shell/pages';

/** A page that loads after the first one, and the texts with it. */
const later = (load: () => Promise<{ default: ComponentType }>) =>
  lazy(() => Promise.all([load(), addTexts()]).then(([code]) => code));

const PAGES: Pages = {
  Sessions: SessionsPage,
  Session: later(() => import('./shell/SessionPage')),
  Compare: later(() => import('./pages/compare/ComparePage')),
  Runs: later(() => import('./pages/runs/RunsPage')),
  views: Object.fromEntries(
    VIEWS.map((view) => [view, lazy(PAGE_CODE[view].load)]),
  ) as unknown as Pages['views'],
  links: LINKS,
  prefetch: prefetchCode,
  TaskDrawer: lazy(() => import('./pages/tasks/TaskDrawer').then((found) => ({ default: found.TaskDrawer }))),
};

/** `session` is the code of the page of a session, if that is the first page. */
export function start(
  root: HTMLElement,
  language: Language,
  texts: readonly object[],
  session?: { default: ComponentType },
): void {
  initI18n(language, texts);
  createRoot(root).render(
    <StrictMode>
      <PagesProvider value={{ ...PAGES, Session: session?.default ?? PAGES.Session }}>
        <App />
      </PagesProvider>
    </StrictMode>,
  );
}
