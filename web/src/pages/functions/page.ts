import type { PageCode } from '../../shell/pages';

export const page: PageCode = { functions: { load: () => import('./FunctionsView') } };
