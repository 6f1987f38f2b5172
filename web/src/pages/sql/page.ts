import type { PageCode } from '../../shell/pages';

export const page: PageCode = { sql: { load: () => import('./SqlPage') } };
