import type { PageCode } from '../../shell/pages';

export const page: PageCode = { logs: { load: () => import('./LogsPage') } };
