import { expect, it } from 'vitest';
import { docsUrl } from './docsUrl';

it('asks for a translation unless the page is read in English', () => {
  expect(docsUrl('how-to/diagnose.md', 'en')).toBe('/docs/how-to/diagnose.md');
  expect(docsUrl('how-to/diagnose.md', 'zh')).toBe('/docs/how-to/diagnose.md?lang=zh');
  expect(docsUrl('reference/ui.md#gantt', 'zh')).toBe('/docs/reference/ui.md?lang=zh#gantt');
});
