import type { PageCode } from '../../shell/pages';

export const page: PageCode = { logical: { load: () => import('./LogicalView') } };
