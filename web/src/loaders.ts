import type { View } from './base/url';
import type { PageCode } from './shell/pages';

const CODE = import.meta.glob<PageCode>('./{pages,views}/*/page.ts', { eager: true, import: 'page' });

/** Loads each view as its own chunk. A test checks that every view has a page. */
export const PAGE_CODE = Object.assign({}, ...Object.values(CODE)) as Required<PageCode>;

/** Loads the code of a view that is likely to be needed. Load errors are shown where the code is used. */
export const prefetchCode = (view: View) => void PAGE_CODE[view].load().catch(() => undefined);
