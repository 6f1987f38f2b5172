/** What the page has in a browser and happy-dom lacks, and a clean page after each test. */

import { cleanup, configure } from '@testing-library/react';
import { afterEach, vi } from 'vitest';
import { queryClient } from '../api/queries';
import { loadTexts } from '../base/i18n/language';

// Ahead of the first test, which has only so much time.
await Promise.all([loadTexts('en'), loadTexts('zh')]);

// Nothing is laid out: every element is as large as a window, which is enough for a list to draw its first rows.
for (const [name, size] of Object.entries({
  clientWidth: 1200,
  offsetWidth: 1200,
  clientHeight: 600,
  offsetHeight: 600,
}))
  Object.defineProperty(HTMLElement.prototype, name, { configurable: true, get: () => size });
Element.prototype.scrollTo = () => undefined;
HTMLCanvasElement.prototype.getContext = () => null;

configure({
  // Whether an element is hidden takes long to find out, and depends on styles that are not here.
  defaultHidden: true,
  // For `findBy...` and `waitFor`. They return as soon as they can: one second would test the machine.
  asyncUtilTimeout: 60_000,
});

// Testing Library and user-event advance fake timers themselves, but know those of Jest alone by name.
Object.assign(globalThis, { jest: { advanceTimersByTime: (ms: number) => vi.advanceTimersByTime(ms) } });

afterEach(() => {
  cleanup();
  queryClient.clear();
  localStorage.clear();
  sessionStorage.clear();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});
