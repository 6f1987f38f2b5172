import type { PageCode } from '../../shell/pages';

export const page: PageCode = { data: { load: () => import('./DataPage') } };
