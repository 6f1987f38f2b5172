/** Supplies the browser features that happy-dom lacks, and cleans up the page after each test. */

import { cleanup, configure } from '@testing-library/react';
import { afterEach, vi } from 'vitest';
import { queryClient } from '../api/queries';
import { loadTexts } from '../base/i18n/language';

// Loaded up front, so that loading does not count towards the first test's timeout.
await Promise.all([loadTexts('en'), loadTexts('zh')]);

// Nothing is laid out in tests. Every element gets the size of a window, so that a list renders its first
// rows.
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
  // Checking whether an element is hidden is slow, and depends on styles that are not loaded.
  defaultHidden: true,
  // Maximum wait of `findBy...` and `waitFor`, which return as soon as they can. The default of one second
  // would make tests depend on the machine's speed.
  asyncUtilTimeout: 60_000,
});

// Testing Library and user-event advance fake timers themselves, but detect only Jest's, by its global name.
Object.assign(globalThis, { jest: { advanceTimersByTime: (ms: number) => vi.advanceTimersByTime(ms) } });

afterEach(() => {
  cleanup();
  queryClient.clear();
  localStorage.clear();
  sessionStorage.clear();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});
