import type { PageCode } from '../../shell/pages';

export const page: PageCode = { failures: { load: () => import('./FailuresPage') } };
