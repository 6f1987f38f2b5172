// Imported before the components' styles, which override these.
import './ui/theme/mantine.css';
import './ui/theme/global.css';
import './ui/theme/words.module.css';
import './ui/theme/layout.module.css';
import './ui/theme/library.module.css';
import './ui/theme/plainTable.module.css';
import './ui/theme/timeline.module.css';
import './ui/theme/chips.module.css';
import './ui/theme/pairs.module.css';
import './ui/theme/tip.module.css';
import { SESSIONS_LIMIT } from './api/path';
import { prefetch } from './api/prefetch';
import { address } from './base/address';
import { firstLanguage, loadTexts } from './base/i18n/language';
import { parseAddress } from './base/url';
import { PAGE_CODE, prefetchCode } from './loaders';

// This entry point is small so that it runs at once and requests everything that the page needs in parallel.
const url = parseAddress(address());
const language = firstLanguage();
const parts = Promise.all([
  import('./start'),
  loadTexts(language, url.page === 'sessions'),
  url.page === 'session' ? import('./shell/SessionPage') : undefined,
]);
prefetch('/sessions', { limit: SESSIONS_LIMIT });
if (url.page === 'session') {
  const { session, view } = url;
  prefetchCode(view);
  prefetch('/summary', { session });
  PAGE_CODE[view].prefetch?.(session);
}
const root = document.getElementById('root');
if (root !== null) void parts.then(([{ start }, ...loaded]) => start(root, language, ...loaded));
